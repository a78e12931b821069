//! The NIFs of `prim_socket` and `prim_net`: sockets that belong to no port, whose calls return at once.
//!
//! A socket is a magic reference to a [`state::Socket`]. What is not ready is waited for by a message (`wait.rs`): the descriptor is registered
//! with the ports' poller, which tells of it here.
//!
//! | module | holds |
//! | --- | --- |
//! | `address` | addresses as maps, and for the system |
//! | `command` | what is told of sockets, and the settings of all |
//! | `connect` | names and connections |
//! | `control` | ancillary data, and the flags of a message |
//! | `ioctl` | requests about network interfaces |
//! | `net` | `prim_net`: names of machines, services and interfaces |
//! | `open` | opening, closing, taking connections |
//! | `option_table` | the options of the system |
//! | `options` | `setopt`, `getopt` |
//! | `owners` | sockets by processes and by numbers |
//! | `receive`, `send` | data |
//! | `state` | what a socket is |
//! | `supports` | what this machine has |
//! | `terms` | maps, names and errors |
//! | `wait` | processes that wait |

mod address;
mod command;
mod connect;
mod control;
mod ioctl;
mod net;
mod open;
mod option_table;
mod options;
mod owners;
mod receive;
mod send;
mod state;
mod supports;
mod terms;
mod wait;

pub use net::PRIM_NET;
pub use owners::Sockets;

myriad_vm::bifs! { pub PRIM_SOCKET = "prim_socket" {
    "nif_info" / 0 Nif => command::info_0;
    "nif_info" / 1 Nif => command::info_1;
    "nif_supports" / 0 Nif => supports::supports_0;
    "nif_supports" / 1 Nif => supports::supports_1;
    "nif_command" / 1 Nif => command::command_1;
    "nif_open" / 2 Nif => open::open_2;
    "nif_open" / 4 Nif => open::open_4;
    "nif_bind" / 2 Nif => connect::bind_2;
    "nif_connect" / 1 Nif => connect::connect_1;
    "nif_connect" / 3 Nif => connect::connect_3;
    "nif_listen" / 2 Nif => connect::listen_2;
    "nif_accept" / 2 Nif => open::accept_2;
    "nif_send" / 4 Nif => send::send_4;
    "nif_sendto" / 5 Nif => send::sendto_5;
    "nif_sendmsg" / 5 Nif => send::sendmsg_5;
    "nif_sendfile" / 5 NifDirtyIo => send::sendfile_5;
    "nif_sendfile" / 4 NifDirtyIo => send::sendfile_4;
    "nif_sendfile" / 1 Nif => send::sendfile_1;
    "nif_recv" / 4 Nif => receive::recv_4;
    "nif_recvfrom" / 4 Nif => receive::recvfrom_4;
    "nif_recvmsg" / 5 Nif => receive::recvmsg_5;
    "nif_close" / 1 Nif => open::close_1;
    "nif_finalize_close" / 1 Nif => open::finalize_close_1;
    "nif_shutdown" / 2 Nif => connect::shutdown_2;
    "nif_setopt" / 5 Nif => options::setopt_5;
    "nif_getopt" / 3 Nif => options::getopt_3;
    "nif_getopt" / 4 Nif => options::getopt_4;
    "nif_sockname" / 1 Nif => connect::sockname_1;
    "nif_peername" / 1 Nif => connect::peername_1;
    "nif_ioctl" / 2 Nif => ioctl::ioctl_2;
    "nif_ioctl" / 3 Nif => ioctl::ioctl_3;
    "nif_ioctl" / 4 Nif => ioctl::ioctl_4;
    "nif_cancel" / 3 Nif => connect::cancel_3;
}}
