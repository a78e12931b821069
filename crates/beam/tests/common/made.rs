//! Modules made by hand, for the tests of what code may do.

use myriad_beam::{LoadError, Module, Op};

/// An operand.
#[derive(Clone, Copy)]
pub enum A {
    U(u8),
    I(u8),
    Atom(u8),
    X(u8),
    Y(u8),
    FR(u8),
    F(u8),
    List(u8),
}

use A::{Atom, F, FR, I, List, U, X, Y};

fn encode(op: Op, args: &[A]) -> Vec<u8> {
    let mut bytes = vec![op.number()];
    for arg in args {
        let (tag, value) = match *arg {
            U(n) => (0, n),
            I(n) => (1, n),
            Atom(n) => (2, n),
            X(n) => (3, n),
            Y(n) => (4, n),
            F(n) => (5, n),
            FR(n) => {
                bytes.push(0x27);
                (0, n)
            }
            List(n) => {
                bytes.push(0x17);
                (0, n)
            }
        };
        if value < 16 {
            bytes.push(value << 4 | tag);
        } else {
            bytes.extend([8 | tag, value]);
        }
    }
    bytes
}

fn chunk(id: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut bytes = id.to_vec();
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A module `m` of functions f/1 (func_info at label 1, entry 2, this body) and g/1 (entry 8, returns).
/// Atoms: 1 m, 2 f, 3 g, 4 erlang, 5 error, 6 foo, 7 is_map_key. Imports: 0 erlang:error/1, 1 foo:foo/1, 2 erlang:foo/1,
/// 3 erlang:is_map_key/2. Labels are below 200.
pub fn module(body: &[(Op, &[A])]) -> Result<Module, LoadError> {
    let mut code = words(&[16, 0, 191, 200, 2]);
    let head: [(Op, &[A]); 3] = [(Op::Label, &[U(1)]), (Op::FuncInfo, &[Atom(1), Atom(2), U(1)]), (Op::Label, &[U(2)])];
    let tail: [(Op, &[A]); 5] = [
        (Op::Label, &[U(7)]),
        (Op::FuncInfo, &[Atom(1), Atom(3), U(1)]),
        (Op::Label, &[U(8)]),
        (Op::Return, &[]),
        (Op::IntCodeEnd, &[]),
    ];
    for (op, args) in head.iter().chain(body).chain(&tail) {
        code.extend(encode(*op, args));
    }
    let mut form = b"BEAM".to_vec();
    form.extend(chunk(b"AtU8", b"\0\0\0\x07\x01m\x01f\x01g\x06erlang\x05error\x03foo\x0ais_map_key"));
    form.extend(chunk(b"Code", &code));
    form.extend(chunk(b"StrT", b"abc"));
    form.extend(chunk(b"ImpT", &words(&[4, 4, 5, 1, 6, 6, 1, 4, 6, 1, 4, 7, 2])));
    form.extend(chunk(b"ExpT", &words(&[2, 2, 1, 2, 3, 1, 8])));
    let mut file = b"FOR1".to_vec();
    file.extend((form.len() as u32).to_be_bytes());
    file.extend(form);
    Module::load(&file)
}
