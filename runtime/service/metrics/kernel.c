/* kernel.c: what the kernel has answered (kernelCache), as text. No state. */
#include "../kernel/kernel.h"
#include "counts.h"

void nest__metrics_kernel(struct nest__metrics_text *text, enum nest__metrics_format format) {
    struct nest__kernel_counts counts = nest__kernel_counts();
    nest__metrics_number(text, format, "nest_kernel_cache_ports",
                         "Ports at which the kernel answers.", false, counts.on);
    nest__metrics_number(text, format, "nest_kernel_cache_hits",
                         "Requests that the kernel answered in place of the server.", true,
                         counts.answers);
    nest__metrics_number(text, format, "nest_kernel_cache_hit_size", "Bytes of these answers.",
                         true, counts.bytes);
    nest__metrics_number(text, format, "nest_kernel_cache_unchanged",
                         "Answers among them that say 304 Not Modified.", true, counts.unchanged);
    nest__metrics_number(text, format, "nest_kernel_cache_files",
                         "Files whose answers are in the kernel.", false, counts.kept);
    nest__metrics_number(text, format, "nest_kernel_cache_size", "Bytes that these answers take.",
                         false, counts.size);
}
