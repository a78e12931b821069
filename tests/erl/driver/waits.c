/* A driver for waiting_drivers.erl: its ports begin when they say so, and can be busy. */

#include <erl_driver.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef FLAGS
#define FLAGS ERL_DRV_FLAG_USE_INIT_ACK
#endif
#ifndef NAME
#define NAME "waits"
#endif

struct port {
    ErlDrvPort port;
    ErlDrvTermData self;
    ErlDrvData outcome; /* what the port is to begin with */
    int fails;
    ErlDrvMonitor monitor;
};

static ErlDrvTermData atom(const char *name) { return driver_mk_atom((char *)name); }

/* {Name, Number, Number} for the owner. */
static void tell(struct port *p, const char *name, long one, long two)
{
    ErlDrvTermData spec[] = {ERL_DRV_ATOM, atom(name), ERL_DRV_INT, (ErlDrvTermData)one, ERL_DRV_INT, (ErlDrvTermData)two, ERL_DRV_TUPLE, 3};
    erl_drv_output_term(p->self, spec, sizeof spec / sizeof *spec);
}

static ErlDrvData start(ErlDrvPort port, char *command)
{
    struct port *p = driver_alloc(sizeof *p);
    memset(p, 0, sizeof *p);
    p->port = port;
    p->self = driver_mk_port(port);
    p->outcome = (ErlDrvData)p;
    if (strstr(command, "einval"))
        p->outcome = ERL_DRV_ERROR_GENERAL;
    if (strstr(command, "badarg"))
        p->outcome = ERL_DRV_ERROR_BADARG;
    if (strstr(command, "errno"))
        p->outcome = ERL_DRV_ERROR_ERRNO;
    if (strstr(command, "refuses"))
        return ERL_DRV_ERROR_GENERAL;
    p->fails = strstr(command, "fails") != NULL;
    driver_set_timer(port, 20);
    return (ErlDrvData)p;
}

static void timeout(ErlDrvData data)
{
    struct port *p = (struct port *)data;
    if (p->fails) {
        driver_failure_atom(p->port, "failed");
        return;
    }
    errno = EACCES;
    erl_drv_init_ack(p->port, p->outcome);
}

/* Tells of each piece whether it is within its binary, and how many hold that. */
static void outputv(ErlDrvData data, ErlIOVec *vector)
{
    struct port *p = (struct port *)data;
    tell(p, "output", (long)vector->size, vector->iov[0].iov_len == 0 && vector->binv[0] == NULL);
    for (int i = 1; i < vector->vsize; i++) {
        ErlDrvBinary *binary = vector->binv[i];
        char *base = vector->iov[i].iov_base;
        int within = base >= binary->orig_bytes && base + vector->iov[i].iov_len <= binary->orig_bytes + binary->orig_size;
        tell(p, "piece", (long)vector->iov[i].iov_len, within && driver_binary_get_refc(binary) >= 1);
    }
    if (vector->size > 64)
        driver_outputv(p->port, NULL, 0, vector, 0);
}

/* The limits before and after a change of them. */
static void limits(struct port *p, char *bytes)
{
    ErlDrvSizeT low = 0, high = 0;
    erl_drv_busy_msgq_limits(p->port, &low, &high);
    tell(p, "limits", (long)low, (long)high);
    low = (ErlDrvSizeT)(signed char)bytes[0], high = (ErlDrvSizeT)(signed char)bytes[1];
    erl_drv_busy_msgq_limits(p->port, &low, &high);
    tell(p, "set", (long)low, (long)high);
    low = high = 0;
    erl_drv_busy_msgq_limits(p->port, &low, &high);
    tell(p, "limits", (long)low, (long)high);
}

static ErlDrvSSizeT control(ErlDrvData data, unsigned operation, char *bytes, ErlDrvSizeT length, char **answer, ErlDrvSizeT room)
{
    struct port *p = (struct port *)data;
    (void)length, (void)answer, (void)room;
    switch (operation) {
    case 1: set_busy_port(p->port, bytes[0]); return 0;
    case 3: limits(p, bytes); return 0;
    case 4: return driver_monitor_process(p->port, driver_caller(p->port), &p->monitor);
    case 5: return driver_demonitor_process(p->port, &p->monitor);
    case 6: { /* a binary of the driver's own, to come back by outputv */
        ErlDrvBinary *binary = driver_alloc_binary(1000);
        memset(binary->orig_bytes, 'b', 1000);
        driver_output_binary(p->port, NULL, 0, binary, 0, 1000);
        driver_free_binary(binary);
        return 0;
    }
    default: return -1;
    }
}

static void process_exit(ErlDrvData data, ErlDrvMonitor *monitor) { (void)data, (void)monitor; }

/* What a port says as it goes is heard. */
static void stop(ErlDrvData data)
{
    struct port *p = (struct port *)data;
    if ((long)data < 0)
        return; /* it never began */
    driver_output(p->port, "stop", 4);
    driver_free(p);
}

static ErlDrvEntry entry = {
    .start = start, .stop = stop, .outputv = outputv, .driver_name = NAME, .control = control, .timeout = timeout,
    .extended_marker = ERL_DRV_EXTENDED_MARKER, .major_version = ERL_DRV_EXTENDED_MAJOR_VERSION,
    .minor_version = ERL_DRV_EXTENDED_MINOR_VERSION, .driver_flags = ERL_DRV_FLAG_USE_PORT_LOCKING | FLAGS,
    .process_exit = process_exit};

DRIVER_INIT(waits) { return &entry; }
