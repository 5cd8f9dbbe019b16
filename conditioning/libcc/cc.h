/* Connection conditioning: the calls of a server whose clients arrive through filters.
 *
 * Each call takes the place of the system call of the same name and takes the same arguments. A
 * descriptor that did not come from this library is handed to that system call unchanged. The
 * manual pages say more: cc(7) is the first to read. */
#ifndef CC_H
#define CC_H

#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the filters and listens on an address. filters[] ends with NULL; filters[0] is next to the
 * server and the last one accepts the clients. Each is "NAME[,key=value]...". */
int cc_createlsock(struct in_addr sin_addr, in_port_t sin_port, int backlog, char *filters[]);

/* The same for any address of a stream socket, such as an IPv6 one. */
int cc_createlsock_at(const struct sockaddr *addr, socklen_t addrlen, int backlog, char *filters[]);

int cc_accept(int s, struct sockaddr *addr, socklen_t *addrlen);
int cc_accept4(int s, struct sockaddr *addr, socklen_t *addrlen, int flags);

/* These return the request that came with the connection first, then what the socket has. */
ssize_t cc_read(int fd, void *buf, size_t count);
ssize_t cc_recv(int fd, void *buf, size_t count, int flags);
ssize_t cc_readv(int fd, const struct iovec *iov, int iovcnt);

/* Closes a descriptor. all == 0: a filter may keep the connection for the client's next request.
 * Otherwise the filters close it too. */
int cc_close(int fd, int all);

int cc_select(int n, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout);
int cc_poll(struct pollfd fds[], nfds_t nfds, int timeout);
int cc_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int cc_epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);

int cc_dup(int oldfd);
int cc_dup2(int oldfd, int newfd);
pid_t cc_fork(void);

#ifdef __cplusplus
}
#endif

#endif
