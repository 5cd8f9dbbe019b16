/* context.h: switches from one stack to another on the same thread.
 *
 * Included by the fiber switch. No state except what sanitizers must be told. Must not know
 * sessions. x86-64 and aarch64 have their own switch; all other processors (and
 * -DNEST__CONTEXT_UCONTEXT) use ucontext. */
#ifndef NEST_CONTEXT_H
#define NEST_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(NEST__CONTEXT_UCONTEXT)
#define NEST__CONTEXT_UCONTEXT 1
#endif
#ifdef NEST__CONTEXT_UCONTEXT
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define NEST__CONTEXT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NEST__CONTEXT_ASAN 1
#endif
#endif
#ifdef NEST__CONTEXT_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#define NEST__CONTEXT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NEST__CONTEXT_TSAN 1
#endif
#endif
/* ThreadSanitizer sees which calls open and close descriptors. What the kernel closes by itself, it
 * takes for open, and so the next descriptor of the same number for that one. */
#ifdef NEST__CONTEXT_TSAN
#include <sanitizer/tsan_interface.h>
enum { NEST__CALLS_WATCHED = 1 };
#else
enum { NEST__CALLS_WATCHED = 0 };
#endif

/* The point where execution left a stack. It is stored on that stack. */
struct nest__context {
    struct nest__context *next; /* for the owner's list */
    void *sp;
    const void *bottom; /* of its stack, for sanitizers; learnt at the first switch away from it */
    size_t size;
    void *shadow;
    void *fiber;
#ifdef NEST__CONTEXT_UCONTEXT
    ucontext_t registers;
#endif
};

/* -- what sanitizers must be told */

/* The values of the current thread. A switch may return on another thread, so they must be read
 * again after it. Functions that are not inlined into the switch ensure this. What this file
 * defines is weak, because tests compile the runtime in several units that include it. */
__attribute__((weak, visibility("hidden"))) _Thread_local struct nest__context *nest__context_left;

__attribute__((noinline)) static void context_leave(struct nest__context *from,
                                                    const struct nest__context *to) {
    nest__context_left = from;
#ifdef NEST__CONTEXT_ASAN
    __sanitizer_start_switch_fiber(&from->shadow, to->bottom, to->size);
#endif
    (void)to;
}

__attribute__((noinline)) static void context_arrive(void *shadow) {
#ifdef NEST__CONTEXT_ASAN
    __sanitizer_finish_switch_fiber(shadow, &nest__context_left->bottom, &nest__context_left->size);
#endif
    (void)shadow;
}

/* -- the switch itself */

#ifdef NEST__CONTEXT_UCONTEXT

static inline void context_swap(struct nest__context *from, struct nest__context *to) {
    swapcontext(&from->registers, &to->registers);
}

static inline int context_prepare(struct nest__context *c, void (*entry)(void)) {
    if (getcontext(&c->registers) == -1) {
        return -1;
    }
    c->registers.uc_stack.ss_sp = (void *)(uintptr_t)c->bottom;
    c->registers.uc_stack.ss_size = c->size;
    c->registers.uc_link = NULL;
    makecontext(&c->registers, entry, 0);
    return 0;
}

#else

/* Saves the callee-saved registers below *from's stack pointer, and continues where `to` was saved.
 */
void nest__context_swap(void **from, void *to);
void nest__context_begin(void); /* the first frame: calls the entry function, which never returns */

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".weak nest__context_swap\n"
        ".hidden nest__context_swap\n"
        ".type nest__context_swap, @function\n"
        "nest__context_swap:\n"
        ".cfi_startproc\n"
        "pushq %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
        "pushq %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
        "pushq %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
        "pushq %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
        "pushq %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
        "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "stmxcsr (%rsp)\n"
        "fnstcw 4(%rsp)\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n" /* another stack with the same layout, so the unwind information stays
                               true */
        "ldmxcsr (%rsp)\n"
        "fldcw 4(%rsp)\n"
        "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
        "popq %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r15\n"
        "popq %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r14\n"
        "popq %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\n"
        "popq %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
        "popq %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
        "popq %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size nest__context_swap, .-nest__context_swap\n"
        ".p2align 4\n"
        ".weak nest__context_begin\n"
        ".hidden nest__context_begin\n"
        ".type nest__context_begin, @function\n"
        "nest__context_begin:\n"
        ".cfi_startproc\n"
        ".cfi_undefined %rip\n" /* end of the backtrace */
        "call *%r12\n"
        "ud2\n"
        ".cfi_endproc\n"
        ".size nest__context_begin, .-nest__context_begin\n");

enum { CONTEXT_WORDS = 8, CONTEXT_ENTRY = 4, CONTEXT_RETURN = 7 };
static const uint64_t context_control =
    UINT64_C(0x037f00001f80); /* the default x87 and SSE control words of the ABI */
#else
__asm__(
    ".text\n"
    ".p2align 2\n"
    ".weak nest__context_swap\n"
    ".hidden nest__context_swap\n"
    ".type nest__context_swap, %function\n"
    "nest__context_swap:\n"
    ".cfi_startproc\n"
    "sub sp, sp, #160\n.cfi_adjust_cfa_offset 160\n"
    "stp x19, x20, [sp, #0]\n.cfi_rel_offset x19, 0\n.cfi_rel_offset x20, 8\n"
    "stp x21, x22, [sp, #16]\n.cfi_rel_offset x21, 16\n.cfi_rel_offset x22, 24\n"
    "stp x23, x24, [sp, #32]\n.cfi_rel_offset x23, 32\n.cfi_rel_offset x24, 40\n"
    "stp x25, x26, [sp, #48]\n.cfi_rel_offset x25, 48\n.cfi_rel_offset x26, 56\n"
    "stp x27, x28, [sp, #64]\n.cfi_rel_offset x27, 64\n.cfi_rel_offset x28, 72\n"
    "stp x29, x30, [sp, #80]\n.cfi_rel_offset x29, 80\n.cfi_rel_offset x30, 88\n"
    "stp d8, d9, [sp, #96]\n"
    "stp d10, d11, [sp, #112]\n"
    "stp d12, d13, [sp, #128]\n"
    "stp d14, d15, [sp, #144]\n"
    "mov x9, sp\n"
    "str x9, [x0]\n"
    "mov sp, x1\n" /* another stack with the same layout, so the unwind information stays true */
    "ldp x19, x20, [sp, #0]\n"
    "ldp x21, x22, [sp, #16]\n"
    "ldp x23, x24, [sp, #32]\n"
    "ldp x25, x26, [sp, #48]\n"
    "ldp x27, x28, [sp, #64]\n"
    "ldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\n"
    "ldp d10, d11, [sp, #112]\n"
    "ldp d12, d13, [sp, #128]\n"
    "ldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\n.cfi_adjust_cfa_offset -160\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size nest__context_swap, .-nest__context_swap\n"
    ".p2align 2\n"
    ".weak nest__context_begin\n"
    ".hidden nest__context_begin\n"
    ".type nest__context_begin, %function\n"
    "nest__context_begin:\n"
    ".cfi_startproc\n"
    ".cfi_undefined x30\n" /* end of the backtrace */
    "blr x19\n"
    "brk #1\n"
    ".cfi_endproc\n"
    ".size nest__context_begin, .-nest__context_begin\n");

enum { CONTEXT_WORDS = 20, CONTEXT_ENTRY = 0, CONTEXT_RETURN = 11 };
static const uint64_t context_control = 0;
#endif

static inline void context_swap(struct nest__context *from, struct nest__context *to) {
    nest__context_swap(&from->sp, to->sp);
}

/* Prepares a stack with the values that nest__context_swap restores. */
static inline int context_prepare(struct nest__context *c, void (*entry)(void)) {
    uintptr_t top = ((uintptr_t)c->bottom + c->size) & ~(uintptr_t)15;
    uint64_t *words = (uint64_t *)top - CONTEXT_WORDS;
    for (unsigned i = 0; i < CONTEXT_WORDS; i++) {
        words[i] = 0;
    }
#if defined(__x86_64__)
    words[0] = context_control;
#else
    (void)context_control;
#endif
    words[CONTEXT_ENTRY] = (uint64_t)(uintptr_t)entry;
    words[CONTEXT_RETURN] = (uint64_t)(uintptr_t)nest__context_begin;
    c->sp = words;
    return 0;
}

#endif

/* If the program runs under Valgrind, tells it about a stack, with its documented instruction
 * sequence (rotations that change nothing). Otherwise Valgrind would take the switch for a huge
 * stack frame. */
static inline void context_tell_valgrind(const void *bottom, size_t size) {
    enum { STACK_REGISTER = 0x1501 };
    volatile uint64_t request[6] = {
        STACK_REGISTER, (uint64_t)(uintptr_t)bottom, (uint64_t)(uintptr_t)bottom + size, 0, 0, 0};
#if defined(__x86_64__)
    uint64_t result = 0;
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(&request[0])
                     : "cc", "memory");
#elif defined(__aarch64__)
    register uint64_t result __asm__("x3") = 0;
    register volatile uint64_t *where __asm__("x4") = &request[0];
    __asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\t"
                     "ror x12, x12, #61\n\torr x10, x10, x10"
                     : "+r"(result)
                     : "r"(where)
                     : "cc", "memory");
#endif
    (void)request;
}

/* Prepares a context that will run `entry`, which never returns, on the given stack. Returns 0 or
 * -1. */
static inline int nest__context_make(struct nest__context *c, void *stack, size_t size,
                                     void (*entry)(void)) {
    c->bottom = stack;
    c->size = size;
    c->shadow = NULL;
#ifdef NEST__CONTEXT_TSAN
    c->fiber = __tsan_create_fiber(0);
#endif
    context_tell_valgrind(stack, size);
    return context_prepare(c, entry);
}

/* Saves the caller in *from and continues in *to. Returns when another context switches back. */
static inline void nest__context_switch(struct nest__context *from, struct nest__context *to) {
    context_leave(from, to);
#ifdef NEST__CONTEXT_TSAN /* must be here: ThreadSanitizer records calls and returns for each      \
                             fiber */
    from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
    context_swap(from, to);
    context_arrive(from->shadow);
}

/* An entry function must call this first. */
static inline void nest__context_entered(void) {
    context_arrive(NULL);
}

#endif
