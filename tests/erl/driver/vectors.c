/* A driver for driver_vectors.erl: it tells what binaries its output is in, and holds them. */

#include <erl_driver.h>
#include <string.h>

#define HELD 32

struct port {
    ErlDrvPort port;
    ErlDrvTermData self;
    ErlDrvBinary *held[HELD];
    int count;
};

static ErlDrvData start(ErlDrvPort port, char *command)
{
    (void)command;
    struct port *p = driver_alloc(sizeof *p);
    memset(p, 0, sizeof *p);
    p->port = port;
    p->self = driver_mk_port(port);
    return (ErlDrvData)p;
}

static void let_go(struct port *p)
{
    while (p->count > 0)
        driver_free_binary(p->held[--p->count]);
}

static void stop(ErlDrvData data)
{
    let_go((struct port *)data);
    driver_free((void *)data);
}

/* The port is closed: what is in the queue is not wanted. */
static void flush(ErlDrvData data)
{
    struct port *p = (struct port *)data;
    driver_deq(p->port, driver_sizeq(p->port));
}

/* Which of the binaries that are held it is, from 1; a new one is held from now on. A binary that is held has its address for itself. */
static int number_of(struct port *p, ErlDrvBinary *binary)
{
    for (int i = 0; i < p->count; i++)
        if (p->held[i] == binary)
            return i + 1;
    if (p->count == HELD)
        return 0;
    driver_binary_inc_refc(binary);
    p->held[p->count++] = binary;
    return p->count;
}

/* {slice, Binary, Start, Length} for the owner, for each slice; Binary 0: of none. What is sent goes to the queue. */
static void outputv(ErlDrvData data, ErlIOVec *vector)
{
    struct port *p = (struct port *)data;
    for (int i = 0; i < vector->vsize; i++) {
        SysIOVec *slice = &vector->iov[i];
        ErlDrvBinary *binary = vector->binv[i];
        if (slice->iov_len == 0)
            continue;
        long start = binary ? slice->iov_base - binary->orig_bytes : 0;
        int within = binary && start >= 0 && start + (long)slice->iov_len <= binary->orig_size;
        ErlDrvTermData spec[] = {ERL_DRV_ATOM, driver_mk_atom("slice"), ERL_DRV_INT, within ? number_of(p, binary) : 0, ERL_DRV_INT, start,
                                 ERL_DRV_INT, slice->iov_len, ERL_DRV_TUPLE, 4};
        erl_drv_output_term(p->self, spec, sizeof spec / sizeof *spec);
    }
    driver_enqv(p->port, vector, 0);
}

/* 1: what is in the queue goes to the owner. 2: the size of the last binary. 3: no binary is held any more. */
static ErlDrvSSizeT control(ErlDrvData data, unsigned operation, char *bytes, ErlDrvSizeT length, char **answer, ErlDrvSizeT room)
{
    (void)bytes, (void)length;
    struct port *p = (struct port *)data;
    ErlIOVec vector;
    switch (operation) {
    case 1:
        driver_peekqv(p->port, &vector);
        driver_outputv(p->port, "queue", 5, &vector, 0);
        driver_deq(p->port, driver_sizeq(p->port));
        return 0;
    case 2:
        if (p->count == 0 || room < sizeof(ErlDrvSInt))
            return -1;
        memcpy(*answer, &p->held[p->count - 1]->orig_size, sizeof(ErlDrvSInt));
        return sizeof(ErlDrvSInt);
    case 3: let_go(p); return 0;
    default: return -1;
    }
}

static ErlDrvEntry entry = {
    .start = start, .stop = stop, .flush = flush, .outputv = outputv, .control = control, .driver_name = "vectors",
    .extended_marker = ERL_DRV_EXTENDED_MARKER, .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION, .driver_flags = ERL_DRV_FLAG_USE_PORT_LOCKING};

DRIVER_INIT(vectors) { return &entry; }
