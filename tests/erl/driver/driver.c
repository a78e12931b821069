/* A driver for c_driver.erl. What it is to do it is told by the operation of port_control/3, and it tells what happens by messages to its owner. */

#include <erl_driver.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LOCKING
#define LOCKING ERL_DRV_FLAG_USE_PORT_LOCKING
#endif
#ifndef NAME
#define NAME "driver"
#endif
#ifndef VERSION
#define VERSION 1
#endif

struct port {
    ErlDrvPort port;
    ErlDrvTermData self;
    int pipe[2];
    int keeps; /* output goes to the queue */
    ErlDrvMonitor monitor;
    ErlDrvPDL lock;
    ErlDrvTid thread;
};

static ErlDrvTermData atom(const char *name) { return driver_mk_atom((char *)name); }

/* {Name, Number} for the owner. */
static void tell(struct port *p, const char *name, long number)
{
    ErlDrvTermData spec[] = {ERL_DRV_ATOM, atom(name), ERL_DRV_INT, (ErlDrvTermData)number, ERL_DRV_TUPLE, 2};
    erl_drv_output_term(p->self, spec, sizeof spec / sizeof *spec);
}

static void tell_bytes(struct port *p, const char *name, const char *bytes, size_t length)
{
    ErlDrvTermData spec[] = {ERL_DRV_ATOM, atom(name), ERL_DRV_BUF2BINARY, (ErlDrvTermData)bytes, length, ERL_DRV_TUPLE, 2};
    erl_drv_output_term(p->self, spec, sizeof spec / sizeof *spec);
}

static ErlDrvData start(ErlDrvPort port, char *command)
{
    char *argument = strchr(command, ' ');
    if (argument && strcmp(argument, " einval") == 0)
        return ERL_DRV_ERROR_GENERAL;
    if (argument && strcmp(argument, " badarg") == 0)
        return ERL_DRV_ERROR_BADARG;
    if (argument && strcmp(argument, " eacces") == 0) {
        errno = EACCES;
        return ERL_DRV_ERROR_ERRNO;
    }
    struct port *p = driver_alloc(sizeof *p);
    memset(p, 0, sizeof *p);
    p->port = port;
    p->self = driver_mk_port(port);
    p->pipe[0] = p->pipe[1] = -1;
    if (argument)
        tell_bytes(p, "started", argument, strlen(argument));
    return (ErlDrvData)p;
}

static void stop(ErlDrvData data)
{
    struct port *p = (struct port *)data;
    if (p->pipe[0] >= 0) {
        driver_select(p->port, (ErlDrvEvent)(long)p->pipe[0], ERL_DRV_USE | ERL_DRV_READ, 0);
        driver_select(p->port, (ErlDrvEvent)(long)p->pipe[1], ERL_DRV_USE | ERL_DRV_WRITE, 0);
    }
    driver_free(p);
}

static void stop_select(ErlDrvEvent event, void *reserved)
{
    (void)reserved;
    close((int)(long)event);
}

static void output(ErlDrvData data, char *bytes, ErlDrvSizeT length)
{
    struct port *p = (struct port *)data;
    if (p->keeps)
        driver_enq(p->port, bytes, length);
    else
        driver_output(p->port, bytes, length);
}

static void ready_input(ErlDrvData data, ErlDrvEvent event)
{
    struct port *p = (struct port *)data;
    char bytes[64];
    ssize_t got = read((int)(long)event, bytes, sizeof bytes);
    if (got > 0) {
        tell_bytes(p, "read", bytes, (size_t)got);
    } else {
        driver_select(p->port, event, ERL_DRV_READ, 0);
        tell(p, "end", got);
    }
}

static void ready_output(ErlDrvData data, ErlDrvEvent event)
{
    struct port *p = (struct port *)data;
    ssize_t put = write((int)(long)event, "through the pipe", 16);
    driver_select(p->port, event, ERL_DRV_WRITE, 0);
    tell(p, "written", put);
}

static void timeout(ErlDrvData data)
{
    struct port *p = (struct port *)data;
    unsigned long left = 99;
    driver_read_timer(p->port, &left);
    tell(p, "timeout", (long)left);
}

static void flush(ErlDrvData data)
{
    struct port *p = (struct port *)data;
    ErlDrvTermData owner = driver_connected(p->port);
    ErlDrvTermData spec[] = {ERL_DRV_ATOM, atom("flush"), ERL_DRV_INT, (ErlDrvTermData)driver_sizeq(p->port), ERL_DRV_TUPLE, 2};
    erl_drv_send_term(p->self, owner, spec, 6);
    driver_set_timer(p->port, 5);
    p->keeps = 2;
}

static void timeout_or_end(ErlDrvData data)
{
    struct port *p = (struct port *)data;
    if (p->keeps == 2)
        driver_deq(p->port, driver_sizeq(p->port));
    else
        timeout(data);
}

static void process_exit(ErlDrvData data, ErlDrvMonitor *monitor)
{
    struct port *p = (struct port *)data;
    tell(p, "process_exit", driver_compare_monitors(monitor, &p->monitor));
}

static void work(void *data) { ++*(long *)data; }
static void drop(void *data) { driver_free(data); }

static void ready_async(ErlDrvData data, ErlDrvThreadData result)
{
    tell((struct port *)data, "async", *(long *)result);
    driver_free(result);
}

/* What comes and goes by the queue: all kinds of ways in, and what is seen of it. */
static void queue(struct port *p)
{
    ErlDrvBinary *binary = driver_alloc_binary(5);
    memcpy(binary->orig_bytes, "BCDEF", 5);
    SysIOVec slices[2] = {{"xyz", 3}, {binary->orig_bytes + 3, 2}};
    ErlDrvBinary *binaries[2] = {NULL, binary};
    ErlIOVec vector = {2, 5, slices, binaries};
    driver_enq(p->port, "hello", 5);
    driver_enq_bin(p->port, binary, 0, 3);
    driver_enqv(p->port, &vector, 1);
    tell(p, "holders", driver_binary_get_refc(binary));
    driver_free_binary(binary);
    tell(p, "size", (long)driver_sizeq(p->port));
    int count;
    SysIOVec *seen = driver_peekq(p->port, &count);
    tell(p, "slices", count);
    for (int i = 0; i < count; i++)
        tell_bytes(p, "slice", seen[i].iov_base, seen[i].iov_len);
    tell(p, "left", (long)driver_deq(p->port, 4));
    ErlIOVec peeked;
    tell(p, "peekqv", (long)driver_peekqv(p->port, &peeked));
    char bytes[64];
    ErlDrvSizeT copied = driver_vec_to_buf(&peeked, bytes, sizeof bytes);
    tell_bytes(p, "all", bytes, copied);
    tell(p, "not_so_many", (long)driver_deq(p->port, 1000) == -1);
    driver_deq(p->port, driver_sizeq(p->port));
    tell(p, "size", (long)driver_sizeq(p->port));
}

/* All kinds of terms. */
static void terms(struct port *p)
{
    double pi = 3.25;
    ErlDrvSInt64 least = -9223372036854775807L - 1;
    ErlDrvUInt64 most = 18446744073709551615UL;
    static const unsigned char external[] = {131, 104, 2, 97, 1, 106};
    ErlDrvBinary *large = driver_alloc_binary(100);
    memset(large->orig_bytes, 'x', 100);
    ErlDrvTermData spec[] = {
        ERL_DRV_ATOM, atom("terms"), ERL_DRV_INT, (ErlDrvTermData)-5, ERL_DRV_UINT, 5, ERL_DRV_INT64, (ErlDrvTermData)&least, ERL_DRV_UINT64,
        (ErlDrvTermData)&most, ERL_DRV_FLOAT, (ErlDrvTermData)&pi, ERL_DRV_NIL, ERL_DRV_STRING, (ErlDrvTermData) "text", 4, ERL_DRV_NIL,
        ERL_DRV_STRING_CONS, (ErlDrvTermData) "more", 4, ERL_DRV_BINARY, (ErlDrvTermData)large, 70, 10, ERL_DRV_BUF2BINARY,
        (ErlDrvTermData) "bytes", 5, ERL_DRV_EXT2TERM, (ErlDrvTermData)external, sizeof external, ERL_DRV_PORT, p->self, ERL_DRV_PID,
        driver_connected(p->port), ERL_DRV_INT, 1, ERL_DRV_INT, 2, ERL_DRV_NIL, ERL_DRV_LIST, 3, ERL_DRV_ATOM, atom("k"), ERL_DRV_INT, 1,
        ERL_DRV_MAP, 1, ERL_DRV_TUPLE, 16};
    int sent = erl_drv_output_term(p->self, spec, sizeof spec / sizeof *spec);
    driver_free_binary(large);
    ErlDrvTermData bad[] = {ERL_DRV_INT, 1, ERL_DRV_TUPLE, 2};
    ErlDrvTermData two[] = {ERL_DRV_INT, 1, ERL_DRV_INT, 2};
    ErlDrvTermData twice[] = {ERL_DRV_INT, 1, ERL_DRV_INT, 1, ERL_DRV_INT, 1, ERL_DRV_INT, 2, ERL_DRV_MAP, 2};
    tell(p, "sent", sent);
    tell(p, "twice", erl_drv_output_term(p->self, twice, 10));
    tell(p, "bad", erl_drv_output_term(p->self, bad, 4) < 0);
    tell(p, "two", erl_drv_output_term(p->self, two, 4) < 0);
}

static void binaries(struct port *p)
{
    ErlDrvBinary *binary = driver_alloc_binary(200);
    for (int i = 0; i < 200; i++)
        binary->orig_bytes[i] = (char)('a' + i % 26);
    driver_output_binary(p->port, NULL, 0, binary, 10, 3);
    driver_output_binary(p->port, NULL, 0, binary, 20, 100);
    driver_output_binary(p->port, "head", 4, binary, 0, 2);
    driver_output2(p->port, "one", 3, "two", 3);
    driver_output2(p->port, "one", 3, NULL, 0);
    SysIOVec slices[2] = {{binary->orig_bytes, 3}, {binary->orig_bytes + 100, 3}};
    ErlDrvBinary *of[2] = {binary, binary};
    ErlIOVec vector = {2, 6, slices, of};
    driver_outputv(p->port, NULL, 0, &vector, 2);
    SysIOVec again[2] = {{binary->orig_bytes, 3}, {"own", 3}};
    ErlDrvBinary *of_one[2] = {binary, NULL};
    ErlIOVec other = {2, 6, again, of_one};
    driver_outputv(p->port, "h", 1, &other, 0);
    tell(p, "inc", driver_binary_inc_refc(binary) - driver_binary_get_refc(binary));
    tell(p, "dec", driver_binary_dec_refc(binary) - driver_binary_get_refc(binary));
    driver_free_binary(binary);
    binary = driver_alloc_binary(6);
    memcpy(binary->orig_bytes, "uvwxyz", 6);
    binary = driver_realloc_binary(binary, 4);
    tell_bytes(p, "realloc", binary->orig_bytes, (size_t)binary->orig_size);
    driver_free_binary(binary);
}

static void *in_thread(void *data)
{
    struct port *p = data;
    driver_pdl_lock(p->lock);
    driver_enq(p->port, "from a thread", 13);
    tell(p, "in_thread", (long)driver_sizeq(p->port));
    driver_deq(p->port, 13);
    driver_pdl_unlock(p->lock);
    driver_pdl_dec_refc(p->lock);
    return data;
}

static void thread(struct port *p)
{
    p->lock = driver_pdl_create(p->port);
    tell(p, "another", driver_pdl_create(p->port) != NULL);
    tell(p, "holders", driver_pdl_inc_refc(p->lock) - driver_pdl_get_refc(p->lock));
    void *result = NULL;
    int created = erl_drv_thread_create("a thread", &p->thread, in_thread, p, NULL);
    erl_drv_thread_join(p->thread, &result);
    tell(p, "created", created);
    tell(p, "joined", result == p);
}

static void system_info(struct port *p)
{
    ErlDrvSysInfo info;
    driver_system_info(&info, sizeof info);
    tell(p, "major", info.driver_major_version);
    tell(p, "minor", info.driver_minor_version);
    tell(p, "nif", info.nif_major_version * 100 + info.nif_minor_version);
    tell(p, "threads", info.thread_support + info.smp_support + info.async_threads);
    tell_bytes(p, "release", info.otp_release, strlen(info.otp_release));
    char value[64];
    size_t room = sizeof value;
    tell(p, "putenv", erl_drv_putenv("C_DRIVER_VARIABLE", "its value"));
    tell(p, "getenv", erl_drv_getenv("C_DRIVER_VARIABLE", value, &room));
    tell_bytes(p, "value", value, room);
    room = 3;
    tell(p, "too_short", erl_drv_getenv("C_DRIVER_VARIABLE", value, &room));
    tell(p, "none", erl_drv_getenv("C_DRIVER_NO_VARIABLE", value, &room));
    tell_bytes(p, "errno_id", erl_errno_id(EACCES), strlen(erl_errno_id(EACCES)));
    tell(p, "convert", (long)erl_drv_convert_time_unit(1500, ERL_DRV_MSEC, ERL_DRV_SEC));
    tell(p, "no_unit", erl_drv_convert_time_unit(1, 99, ERL_DRV_SEC) == ERL_DRV_TIME_ERROR);
    tell(p, "flags", get_port_flags(p->port));
    tell(p, "slice", erl_drv_consume_timeslice(p->port, 1));
    tell(p, "slice", erl_drv_consume_timeslice(p->port, 100));
}

static void child(struct port *p)
{
    struct port *c = driver_alloc(sizeof *c);
    memset(c, 0, sizeof *c);
    c->pipe[0] = c->pipe[1] = -1;
    c->port = driver_create_port(p->port, driver_caller(p->port), "child", (ErlDrvData)c);
    c->self = driver_mk_port(c->port);
    ErlDrvTermData spec[] = {ERL_DRV_ATOM, atom("child"), ERL_DRV_PORT, c->self, ERL_DRV_TUPLE, 2};
    erl_drv_output_term(p->self, spec, 6);
}

static ErlDrvSSizeT control(ErlDrvData data, unsigned operation, char *bytes, ErlDrvSizeT length, char **answer, ErlDrvSizeT room)
{
    struct port *p = (struct port *)data;
    switch (operation) {
    case 1: /* an answer that fits, or not */
        if (length > room)
            *answer = driver_alloc(length);
        memcpy(*answer, bytes, length);
        return (ErlDrvSSizeT)length;
    case 2: { /* the same as a binary */
        ErlDrvBinary *binary = driver_alloc_binary(length);
        set_port_control_flags(p->port, PORT_CONTROL_FLAG_BINARY);
        memcpy(binary->orig_bytes, bytes, length);
        *answer = (char *)binary;
        return 0;
    }
    case 3:
        *answer = NULL;
        return 0;
    case 4: set_port_control_flags(p->port, 0); return 0;
    case 5: binaries(p); return 0;
    case 6: queue(p); return 0;
    case 7: terms(p); return 0;
    case 8: driver_set_timer(p->port, (unsigned long)bytes[0]); return 0;
    case 9: driver_cancel_timer(p->port); return 0;
    case 10: /* a pipe that is waited for at both ends */
        if (pipe(p->pipe) != 0)
            return -1;
        driver_select(p->port, (ErlDrvEvent)(long)p->pipe[0], ERL_DRV_USE | ERL_DRV_READ, 1);
        driver_select(p->port, (ErlDrvEvent)(long)p->pipe[1], ERL_DRV_USE | ERL_DRV_WRITE, 1);
        return 0;
    case 11: driver_select(p->port, (ErlDrvEvent)(long)p->pipe[1], ERL_DRV_WRITE, 1); return 0;
    case 12: tell(p, "no_descriptor", driver_select(p->port, (ErlDrvEvent)-5L, ERL_DRV_READ, 1)); return 0;
    case 13: { /* work on another thread */
        long *number = driver_alloc(sizeof *number);
        *number = bytes[0];
        unsigned key = driver_async_port_key(p->port);
        tell(p, "given", driver_async(p->port, &key, work, number, drop) >= 0);
        return 0;
    }
    case 14: { /* monitor the caller */
        tell(p, "monitor", driver_monitor_process(p->port, driver_caller(p->port), &p->monitor));
        tell(p, "it_is", driver_get_monitored_process(p->port, &p->monitor) == driver_caller(p->port));
        return 0;
    }
    case 15: tell(p, "demonitor", driver_demonitor_process(p->port, &p->monitor)); return 0;
    case 16: set_busy_port(p->port, bytes[0]); return 0;
    case 17: p->keeps = 1; return 0;
    case 18: thread(p); return 0;
    case 19: system_info(p); return 0;
    case 20: child(p); return 0;
    case 21: driver_failure_eof(p->port); return 0;
    case 22: driver_failure_atom(p->port, "a reason"); return 0;
    case 23: driver_failure_posix(p->port, EPIPE); return 0;
    case 24: driver_exit(p->port, 0); return 0;
    case 25: driver_failure(p->port, -1); return 0;
    case 26: driver_lock_driver(p->port); return 0;
    case 27: erl_drv_set_os_pid(p->port, bytes[0]); return 0;
    case 28: tell(p, "version", VERSION); return 0;
    case 29: { /* what an open descriptor without an end is: always ready */
        int file = open("/dev/zero", O_RDONLY);
        tell(p, "opened", file >= 0);
        close(file);
        return 0;
    }
    case 30: tell(p, "none_monitored", driver_get_monitored_process(p->port, &p->monitor) == driver_term_nil); return 0;
    default: return -1;
    }
}

static ErlDrvSSizeT call(ErlDrvData data, unsigned operation, char *bytes, ErlDrvSizeT length, char **answer, ErlDrvSizeT room, unsigned *flags)
{
    (void)data, (void)flags;
    if (operation == 0)
        return -1;
    if (length > room)
        *answer = driver_alloc(length);
    memcpy(*answer, bytes, length);
    return (ErlDrvSSizeT)length;
}

static ErlDrvEntry entry = {
    .start = start, .stop = stop, .output = output, .ready_input = ready_input, .ready_output = ready_output, .driver_name = NAME,
    .control = control, .timeout = timeout_or_end, .ready_async = ready_async, .flush = flush, .call = call,
    .extended_marker = ERL_DRV_EXTENDED_MARKER, .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION, .driver_flags = LOCKING, .process_exit = process_exit, .stop_select = stop_select};

DRIVER_INIT(driver) { return &entry; }
