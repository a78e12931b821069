//! The options of the system that `socket:setopt/3` and `getopt/2` know: one table, from which `socket:supports/1` is answered too.

/// What a value looks like to Erlang code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// `true` or `false`, four bytes for the system.
    Bool,
    Int,
    /// An integer, or `default`.
    Hops,
    Linger,
    /// A name of so many bytes at most, with its NUL.
    Text(usize),
    Domain,
    Type,
    Protocol,
    /// What a packet's route may do: a name, or a number.
    MtuDiscover,
    /// A type of service: a name, or a number.
    Tos,
    /// The address of an interface.
    Interface,
    /// A group, and the interface that it is joined on.
    Group,
    Group6,
    /// A group, an interface, and a source.
    Source,
    /// `inet` or `inet6`.
    Form,
    /// Ancillary data.
    Control,
    /// What `setopt/3` takes alone: `null`.
    Filter,
    /// Known, but without a form.
    Opaque,
}

/// May it be read, set?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum May {
    Both,
    Get,
    Set,
}

/// One option: name, number, shape.
pub(super) struct Row(pub(super) &'static str, pub(super) i32, pub(super) Shape, pub(super) May);

/// The options of a level.
pub(super) struct Level {
    /// Its number: that of a protocol, but for `socket`.
    pub(super) number: i32,
    pub(super) rows: &'static [Row],
    /// Those that OTP names and does not have on Linux.
    pub(super) absent: &'static str,
}

use May::{Both, Get, Set};
use Shape::{
    Bool, Control, Domain, Filter, Form, Group, Group6, Hops, Int, Interface, Linger, MtuDiscover, Opaque, Protocol,
    Source, Text, Tos, Type,
};

/// All of them.
pub(super) static LEVELS: [Level; 6] = [
    Level {
        number: libc::SOL_SOCKET,
        rows: &[
            Row("acceptconn", libc::SO_ACCEPTCONN, Bool, Both),
            Row("bindtodevice", libc::SO_BINDTODEVICE, Text(16), Both),
            Row("broadcast", libc::SO_BROADCAST, Bool, Both),
            Row("debug", libc::SO_DEBUG, Int, Both),
            Row("domain", libc::SO_DOMAIN, Domain, Get),
            Row("dontroute", libc::SO_DONTROUTE, Bool, Both),
            Row("keepalive", libc::SO_KEEPALIVE, Bool, Both),
            Row("linger", libc::SO_LINGER, Linger, Both),
            Row("oobinline", libc::SO_OOBINLINE, Bool, Both),
            Row("passcred", libc::SO_PASSCRED, Bool, Both),
            Row("peek_off", libc::SO_PEEK_OFF, Int, Both),
            Row("priority", libc::SO_PRIORITY, Int, Both),
            Row("protocol", libc::SO_PROTOCOL, Protocol, Get),
            Row("rcvbuf", libc::SO_RCVBUF, Int, Both),
            Row("rcvlowat", libc::SO_RCVLOWAT, Int, Both),
            Row("reuseaddr", libc::SO_REUSEADDR, Bool, Both),
            Row("reuseport", libc::SO_REUSEPORT, Bool, Both),
            Row("sndbuf", libc::SO_SNDBUF, Int, Both),
            Row("sndlowat", libc::SO_SNDLOWAT, Int, Both),
            Row("timestamp", libc::SO_TIMESTAMP, Bool, Both),
            Row("type", libc::SO_TYPE, Type, Get),
        ],
        absent: "acceptfilter busy_poll error mark peercred rcvbufforce rcvtimeo rxq_ovfl setfib sndbufforce sndtimeo",
    },
    Level {
        number: libc::IPPROTO_IP,
        rows: &[
            Row("add_membership", libc::IP_ADD_MEMBERSHIP, Group, Set),
            Row("add_source_membership", libc::IP_ADD_SOURCE_MEMBERSHIP, Source, Set),
            Row("block_source", libc::IP_BLOCK_SOURCE, Source, Set),
            Row("drop_membership", libc::IP_DROP_MEMBERSHIP, Group, Set),
            Row("drop_source_membership", libc::IP_DROP_SOURCE_MEMBERSHIP, Source, Set),
            Row("freebind", libc::IP_FREEBIND, Bool, Both),
            Row("hdrincl", libc::IP_HDRINCL, Bool, Both),
            Row("minttl", libc::IP_MINTTL, Int, Both),
            Row("msfilter", libc::IP_MSFILTER, Filter, Set),
            Row("mtu", libc::IP_MTU, Int, Get),
            Row("mtu_discover", libc::IP_MTU_DISCOVER, MtuDiscover, Both),
            Row("multicast_all", libc::IP_MULTICAST_ALL, Bool, Both),
            Row("multicast_if", libc::IP_MULTICAST_IF, Interface, Both),
            Row("multicast_loop", libc::IP_MULTICAST_LOOP, Bool, Both),
            Row("multicast_ttl", libc::IP_MULTICAST_TTL, Int, Both),
            Row("nodefrag", libc::IP_NODEFRAG, Bool, Both),
            Row("pktinfo", libc::IP_PKTINFO, Bool, Both),
            Row("pktoptions", libc::IP_PKTOPTIONS, Control, Get),
            Row("recverr", libc::IP_RECVERR, Bool, Both),
            Row("recvopts", libc::IP_RECVOPTS, Bool, Both),
            Row("recvorigdstaddr", libc::IP_RECVORIGDSTADDR, Bool, Both),
            Row("recvtos", libc::IP_RECVTOS, Bool, Both),
            Row("recvttl", libc::IP_RECVTTL, Bool, Both),
            Row("retopts", libc::IP_RETOPTS, Bool, Both),
            Row("router_alert", libc::IP_ROUTER_ALERT, Int, Both),
            Row("tos", libc::IP_TOS, Tos, Both),
            Row("transparent", libc::IP_TRANSPARENT, Bool, Both),
            Row("ttl", libc::IP_TTL, Int, Both),
            Row("unblock_source", libc::IP_UNBLOCK_SOURCE, Source, Set),
        ],
        absent: "dontfrag options recvdstaddr recvif sendsrcaddr",
    },
    Level {
        number: libc::IPPROTO_IPV6,
        rows: &[
            Row("add_membership", libc::IPV6_ADD_MEMBERSHIP, Group6, Set),
            Row("addrform", libc::IPV6_ADDRFORM, Form, Set),
            Row("authhdr", libc::IPV6_AUTHHDR, Bool, Both),
            Row("drop_membership", libc::IPV6_DROP_MEMBERSHIP, Group6, Set),
            Row("dstopts", libc::IPV6_DSTOPTS, Bool, Both),
            Row("flowinfo", libc::IPV6_FLOWINFO, Bool, Both),
            Row("hoplimit", libc::IPV6_HOPLIMIT, Bool, Both),
            Row("hopopts", libc::IPV6_HOPOPTS, Bool, Both),
            Row("mtu", libc::IPV6_MTU, Int, Both),
            Row("mtu_discover", libc::IPV6_MTU_DISCOVER, MtuDiscover, Both),
            Row("multicast_hops", libc::IPV6_MULTICAST_HOPS, Hops, Both),
            Row("multicast_if", libc::IPV6_MULTICAST_IF, Int, Both),
            Row("multicast_loop", libc::IPV6_MULTICAST_LOOP, Bool, Both),
            Row("recverr", libc::IPV6_RECVERR, Bool, Both),
            Row("recvhoplimit", libc::IPV6_RECVHOPLIMIT, Bool, Both),
            Row("recvpktinfo", libc::IPV6_RECVPKTINFO, Bool, Both),
            Row("recvtclass", libc::IPV6_RECVTCLASS, Bool, Both),
            Row("router_alert", libc::IPV6_ROUTER_ALERT, Int, Both),
            Row("rthdr", libc::IPV6_RTHDR, Bool, Both),
            Row("tclass", libc::IPV6_TCLASS, Int, Both),
            Row("unicast_hops", libc::IPV6_UNICAST_HOPS, Hops, Both),
            Row("v6only", libc::IPV6_V6ONLY, Bool, Both),
        ],
        absent: "auth_level checksum esp_network_level esp_trans_level faith ipcomp_level join_group leave_group pktoptions \
                 portrange use_min_mtu",
    },
    Level {
        number: libc::IPPROTO_TCP,
        rows: &[
            Row("congestion", libc::TCP_CONGESTION, Text(16), Both),
            Row("cork", libc::TCP_CORK, Bool, Both),
            Row("maxseg", libc::TCP_MAXSEG, Int, Both),
            Row("nodelay", libc::TCP_NODELAY, Bool, Both),
        ],
        absent: "info keepcnt keepidle keepintvl md5sig noopt nopush syncnt user_timeout",
    },
    Level { number: libc::IPPROTO_UDP, rows: &[Row("cork", libc::UDP_CORK, Bool, Both)], absent: "" },
    Level {
        number: libc::IPPROTO_SCTP,
        rows: &[
            Row("associnfo", 1, Opaque, Both),
            Row("autoclose", 4, Int, Both),
            Row("disable_fragments", 8, Bool, Both),
            Row("events", 11, Opaque, Set),
            Row("initmsg", 2, Opaque, Both),
            Row("maxseg", 13, Int, Both),
            Row("nodelay", 3, Bool, Both),
            Row("rtoinfo", 0, Opaque, Set),
        ],
        absent: "adaption_layer auth_active_key auth_chunk auth_delete_key auth_key context default_send_params \
                 delayed_ack_time explicit_eor fragment_interleave get_peer_addr_info hmac_ident i_want_mapped_v4_addr \
                 local_auth_chunks maxburst partial_delivery_point peer_addr_params peer_auth_chunks primary_addr \
                 reset_streams set_peer_primary_addr status use_ext_recvinfo",
    },
];

/// An option, by its level and number.
pub(super) fn row(level: i32, number: i32) -> Option<&'static Row> {
    LEVELS.iter().find(|of| of.number == level)?.rows.iter().find(|row| row.1 == number)
}
