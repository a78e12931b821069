# The system's table of files is full (ENFILE): what is told, that nobody spins meanwhile, and that all goes on afterwards. A process beside
# the VM answers its system calls that would make a file, by seccomp: with ENFILE while there is a file `no_more`, else with what the system says.
cat >beside.c <<'X'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const int makers[] = {
#ifdef SYS_open
    SYS_open, SYS_pipe, SYS_epoll_create, SYS_eventfd,
#endif
    SYS_openat, SYS_openat2, SYS_accept, SYS_accept4, SYS_socket, SYS_socketpair, SYS_pipe2, SYS_epoll_create1, SYS_eventfd2,
};
enum { MAKERS = sizeof makers / sizeof *makers };

/* From here on, this process waits at each of these calls until the reader of the descriptor has answered. */
static int listener(void)
{
    struct sock_filter filter[MAKERS + 3];
    struct sock_fprog program = {MAKERS + 3, filter};
    filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < MAKERS; i++)
        filter[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, makers[i], MAKERS - i, 0);
    filter[MAKERS + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[MAKERS + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void answer(int fd)
{
    struct seccomp_notif asked = {0};
    if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &asked))
        return;
    struct seccomp_notif_resp answer = {.id = asked.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    if (!access("no_more", F_OK))
        answer.error = -ENFILE, answer.flags = 0;
    ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int main(int count, char **words)
{
    int pipe_of[2], fd = -1, status;
    if (count < 2 || pipe2(pipe_of, O_CLOEXEC))
        return 2;
    /* Both have the same descriptors until the other becomes the program. */
    pid_t other = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (other == 0) {
        fd = listener();
        write(pipe_of[1], &fd, sizeof fd);
        if (fd >= 0)
            execvp(words[1], words + 1);
        perror(words[1]);
        _exit(127);
    }
    if (read(pipe_of[0], &fd, sizeof fd) != sizeof fd)
        return 2;
    while (waitpid(other, &status, WNOHANG) == 0) {
        struct pollfd one = {fd, POLLIN, 0};
        if (poll(&one, 1, 100) > 0)
            answer(fd);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
X
gcc -O1 -w -o beside beside.c || exit 1
cat >table.erl <<'X'
-module(table).
-export([main/0]).

-define(LOOPBACK, {127, 0, 0, 1}).

tell(Name, Told) -> put(told, [{Name, norm(Told)} | case get(told) of undefined -> []; All -> All end]).
norm(P) when is_port(P) -> port;
norm(T) when is_tuple(T) -> list_to_tuple([norm(E) || E <- tuple_to_list(T)]);
norm([H | T]) -> [norm(H) | norm(T)];
norm(T) -> T.

tried(Fun) -> try Fun() catch Class:Reason -> {Class, Reason} end.

full() -> ok = file:write_file("no_more", "").
empty() -> ok = file:delete("no_more").

main() ->
    process_flag(trap_exit, true),
    logger:set_primary_config(level, none),
    [code:ensure_loaded(M) || M <- [io, io_lib, io_lib_pretty, io_lib_format, lists, os, string, unicode_util, file, filelib, raw_file_io,
        raw_file_io_raw, raw_file_io_list, file_io_server, erl_posix_msg, gen_tcp, inet_tcp, inet, gen_udp, inet_udp, local_tcp, local_udp, socket, prim_socket, inet_db,
        inet6_tcp, erl_erts_errors, timer]],
    {ok, L} = gen_tcp:listen(0, [binary, {ip, ?LOOPBACK}, {active, false}, {backlog, 100}]),
    {ok, Port} = inet:port(L),
    {ok, M} = socket:open(inet, stream, tcp),
    ok = socket:bind(M, #{family => inet, addr => ?LOOPBACK, port => 0}),
    ok = socket:listen(M),
    {ok, Address} = socket:sockname(M),
    Late = [begin {ok, S} = socket:open(inet, stream, tcp), S end || _ <- lists:seq(1, 4)],
    _ = os:cmd("true"),
    full(),
    tell(files, [file:open("table.erl", [read]), file:open("table.erl", [read, raw]), file:open("new", [write]), file:read_file("table.erl"),
                 file:write_file("new", "x"), file:list_dir("."), element(1, file:read_file_info("table.erl"))]),
    tell(programs, [tried(fun() -> open_port(N, []) end) || N <- [{spawn, "true"}, {spawn_executable, "/bin/true"}]]),
    tell(command, tried(fun() -> os:cmd("echo hi") end)),
    tell(sockets, [gen_tcp:connect(?LOOPBACK, Port, [], 1000), gen_tcp:listen(0, []), gen_tcp:listen(0, [{ip, {local, "sock"}}]),
                   gen_udp:open(0, []), socket:open(inet, stream), socket:open(local, dgram)]),
    empty(),
    %% They wait before there is somebody to take.
    Waiting = [waits(fun() -> gen_tcp:accept(L, 10000) end) || _ <- [1, 2]],
    Waiting_too = [waits(fun() -> socket:accept(M, 10000) end) || _ <- [1, 2]],
    timer:sleep(300),
    full(),
    [ok, ok, ok, ok] = [socket:connect(S, #{family => inet, addr => ?LOOPBACK, port => P})
                        || {S, P} <- lists:zip(Late, [Port, Port, maps:get(port, Address), maps:get(port, Address)])],
    tell(waited, [said(P) || P <- Waiting]),
    tell(waited_too, [said(P) || P <- Waiting_too]),
    tell(accept, [gen_tcp:accept(L, T) || T <- [0, 100, infinity]]),
    tell(accept_socket, [socket:accept(M, T) || T <- [0, 100, infinity]]),
    {_, _} = statistics(runtime),
    timer:sleep(500),
    {_, Used} = statistics(runtime),
    tell(spins, Used > 250),
    empty(),
    tell(again, [element(1, gen_tcp:accept(L, 1000)) || _ <- [1, 2]]),
    tell(again_socket, [element(1, socket:accept(M, 1000)) || _ <- [1, 2]]),
    tell(again, [os:cmd("echo hi"), element(1, file:read_file("table.erl")), element(1, gen_udp:open(0, []))]),
    [io:format("=> ~w ~0p~n", [N, T]) || {N, T} <- lists:reverse(get(told))].

waits(Fun) ->
    Self = self(),
    spawn_link(fun() -> Self ! {self(), norm(Fun())} end).

said(Pid) -> receive {Pid, Said} -> Said after 5000 -> late end.
X
"$(dirname "$ERL")/erlc" -W0 table.erl
timeout 60 ./beside "$ERL" -noshell -boot no_dot_erlang -s table main -s init stop </dev/null >out 2>err
echo "status $?"
grep -a '^=>' out
