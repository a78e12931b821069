//! Lists, tuples and maps: making them, taking them apart, and the guard built-ins that do.

use super::state::{State, make_room};
use crate::errors;
use crate::guards;
use crate::machine::{Machine, short, wide};
use crate::maps;
use myriad_heap::RESERVED;
use myriad_term::boxed::Header;
use myriad_term::{Kind, Term};

super::instructions! {
    PutList(s) {
        let operands = *s.pc.add(1);
        let cell = s.htop.cast::<Term>();
        *cell = *s.from(operands & 0xffff);
        *cell.add(1) = *s.from(operands >> 16);
        s.htop = s.htop.add(2);
        *s.to(s.high()) = Term::from_cell(cell);
        s.next(2)
    }

    PutListS(s) {
        let cell = s.htop.cast::<Term>();
        *cell = s.source(1);
        *cell.add(1) = s.source(2);
        s.htop = s.htop.add(2);
        *s.to(s.high()) = Term::from_cell(cell);
        s.next(3)
    }

    GetList(s) {
        let cell = (*s.from(s.high())).cell();
        let operands = *s.pc.add(1);
        let (head, tail) = (*cell, *cell.add(1));
        *s.to(operands & 0xffff) = head;
        *s.to(operands >> 16) = tail;
        s.next(2)
    }

    GetHd(s) {
        *s.to(s.low(1)) = *(*s.from(s.high())).cell();
        s.next(2)
    }

    GetTl(s) {
        *s.to(s.low(1)) = *(*s.from(s.high())).cell().add(1);
        s.next(2)
    }

    IsNonemptyGetList(s) {
        let list = *s.from(s.high());
        if list.is_cons() {
            let cell = list.cell();
            let operands = *s.pc.add(2);
            let (head, tail) = (*cell, *cell.add(1));
            *s.to(operands & 0xffff) = head;
            *s.to(operands >> 16) = tail;
            return s.next(3);
        }
        s.jump(1)
    }

    IsNonemptyHeadIs(s) {
        let list = *s.from(s.high());
        if !list.is_cons() {
            return s.jump(1);
        }
        let cell = list.cell();
        let operands = *s.pc.add(2);
        let (head, tail) = (*cell, *cell.add(1));
        *s.to(operands & 0xffff) = head;
        *s.to(operands >> 16) = tail;
        s.test(head.is(short(s.pc.add(4))), 3, 5)
    }

    GetElement(s) {
        let tuple = (*s.from(s.high())).boxed_ptr().cast::<Term>();
        let w1 = *s.pc.add(1);
        *s.to(w1 & 0xffff) = *tuple.byte_add((w1 >> 16) as usize);
        s.next(2)
    }

    GetElement2(s) {
        let tuple = (*s.from(s.high())).boxed_ptr().cast::<Term>();
        *s.to(s.low(1)) = *tuple.byte_add(s.upper(1) as usize);
        *s.to(s.low(2)) = *tuple.byte_add(s.upper(2) as usize);
        s.next(3)
    }

    GetElement3(s) {
        let tuple = (*s.from(s.high())).boxed_ptr().cast::<Term>();
        *s.to(s.low(1)) = *tuple.byte_add(s.upper(1) as usize);
        *s.to(s.low(2)) = *tuple.byte_add(s.upper(2) as usize);
        *s.to(s.low(3)) = *tuple.byte_add(s.upper(3) as usize);
        s.next(4)
    }

    GetElementFar(s) {
        let tuple = (*s.from(s.high())).boxed_ptr().cast::<Term>();
        *s.to(s.low(1)) = *tuple.add(*s.pc.add(2) as usize);
        s.next(3)
    }

    CheckedGetList(s) {
        let list = *s.from(s.high());
        if !list.is_cons() {
            return s.slow(errors::wrong_kind);
        }
        let cell = list.cell();
        let operands = *s.pc.add(1);
        let (head, tail) = (*cell, *cell.add(1));
        *s.to(operands & 0xffff) = head;
        *s.to(operands >> 16) = tail;
        s.next(2)
    }

    CheckedGetHd(s) {
        let list = *s.from(s.high());
        if !list.is_cons() {
            return s.slow(errors::wrong_kind);
        }
        *s.to(s.low(1)) = *list.cell();
        s.next(2)
    }

    CheckedGetTl(s) {
        let list = *s.from(s.high());
        if !list.is_cons() {
            return s.slow(errors::wrong_kind);
        }
        *s.to(s.low(1)) = *list.cell().add(1);
        s.next(2)
    }

    CheckedGetElement(s) {
        let tuple = s.tuple_reaching(s.upper(1));
        if tuple.is_null() {
            return s.slow(errors::wrong_kind);
        }
        *s.to(s.low(1)) = *tuple.byte_add(s.upper(1) as usize);
        s.next(2)
    }

    CheckedGetElement2(s) {
        let tuple = s.tuple_reaching(s.upper(1).max(s.upper(2)));
        if tuple.is_null() {
            return s.slow(errors::wrong_kind);
        }
        *s.to(s.low(1)) = *tuple.byte_add(s.upper(1) as usize);
        *s.to(s.low(2)) = *tuple.byte_add(s.upper(2) as usize);
        s.next(3)
    }

    CheckedGetElement3(s) {
        let tuple = s.tuple_reaching(s.upper(1).max(s.upper(2)).max(s.upper(3)));
        if tuple.is_null() {
            return s.slow(errors::wrong_kind);
        }
        *s.to(s.low(1)) = *tuple.byte_add(s.upper(1) as usize);
        *s.to(s.low(2)) = *tuple.byte_add(s.upper(2) as usize);
        *s.to(s.low(3)) = *tuple.byte_add(s.upper(3) as usize);
        s.next(4)
    }

    PutTuple(s) {
        let n = *s.pc.add(1) as usize;
        let at = s.htop;
        *at = Header::new(Kind::Tuple, n).raw();
        let elements = at.add(1).cast::<Term>();
        for i in 0..n {
            *elements.add(i) = s.source(2 + i);
        }
        s.htop = at.add(1 + n);
        *s.to(s.high()) = Term::from_boxed(at);
        s.next(2 + n)
    }

    SetElement(s) {
        let tuple = (*s.from(s.high())).boxed_ptr().cast::<Term>();
        *tuple.add(*s.pc.add(2) as usize) = s.source(1);
        s.next(3)
    }

    HeapPutList(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let (destination, operands) = (s.low(2), *s.pc.add(3));
        let cell = s.htop.cast::<Term>();
        *cell = *s.from(operands & 0xffff);
        *cell.add(1) = *s.from(operands >> 16);
        s.htop = s.htop.add(2);
        *s.to(destination) = Term::from_cell(cell);
        s.next(4)
    }

    HeapPutListS(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let cell = s.htop.cast::<Term>();
        *cell = s.source(3);
        *cell.add(1) = s.source(4);
        s.htop = s.htop.add(2);
        *s.to(s.low(2)) = Term::from_cell(cell);
        s.next(5)
    }

    HeapPutTuple(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let n = s.upper(2) as usize;
        let tuple = s.tuple(n, 3);
        *s.to(s.low(2)) = tuple;
        s.next(3 + n)
    }

    HeapPutListReturn(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let operands = *s.pc.add(3);
        let cell = s.htop.cast::<Term>();
        *cell = *s.from(operands & 0xffff);
        *cell.add(1) = *s.from(operands >> 16);
        s.htop = s.htop.add(2);
        *s.x = Term::from_cell(cell);
        s.sp = s.sp.byte_add(*s.pc.add(2) as usize);
        s.ret()
    }

    HeapPutTupleReturn(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let tuple = s.tuple(s.upper(2) as usize, 3);
        *s.x = tuple;
        s.sp = s.sp.byte_add(s.low(2) as usize);
        s.ret()
    }

    NewMap(s) {
        let n = *s.pc.add(2) as usize;
        if (s.sp as usize).wrapping_sub(s.htop as usize) < 8 * (2 + n + RESERVED) {
            return s.slow(maps::new_map);
        }
        let at = s.htop;
        *at = Header::new(Kind::Map, 1 + n).raw();
        *at.add(1) = wide(s.pc.add(3));
        let values = at.add(2).cast::<Term>();
        for i in 0..n {
            *values.add(i) = s.source(5 + i);
        }
        s.htop = at.add(2 + n);
        *s.to(s.high()) = Term::from_boxed(at);
        s.next(5 + n)
    }

    GetPlainElement(s) {
        let Some((keys, values, size)) = s.flat_map(s.operand(1)) else { return s.slow(maps::get_plain_element) };
        let key = short(s.pc.add(3));
        for i in 0..size {
            if (*keys.add(i)).is(key) {
                *s.to(s.high()) = *values.add(i);
                return s.next(4);
            }
        }
        s.jump(2)
    }

    GetPlainElements(s) {
        let Some((keys, values, size)) = s.flat_map(s.source(1)) else { return s.slow(maps::get_plain_elements) };
        // Both in the same order.
        let (mut i, mut at) = (0, s.pc.add(4));
        let end = at.add(*s.pc.add(3) as usize);
        while at < end {
            let key = short(at);
            loop {
                if i == size {
                    return s.jump(2);
                }
                if (*keys.add(i)).is(key) {
                    break;
                }
                i += 1;
            }
            *s.to(*at.add(1)) = *values.add(i);
            at = at.add(2);
        }
        s.pc = end;
        s.go()
    }

    Hd(s) {
        let list = s.operand(guards::SOURCES);
        if !list.is_cons() {
            return s.slow(guards::hd);
        }
        *s.to(s.high()) = *list.cell();
        s.next(guards::SOURCES + 1)
    }

    Tl(s) {
        let list = s.operand(guards::SOURCES);
        if !list.is_cons() {
            return s.slow(guards::tl);
        }
        *s.to(s.high()) = *list.cell().add(1);
        s.next(guards::SOURCES + 1)
    }

    TupleSize(s) {
        let tuple = s.operand(guards::SOURCES);
        if tuple.is_boxed() && Header::from_raw(*tuple.boxed_ptr()).kind() == Kind::Tuple {
            *s.to(s.high()) = Term::small(Header::from_raw(*tuple.boxed_ptr()).size() as i64);
            return s.next(guards::SOURCES + 1);
        }
        s.slow(guards::tuple_size)
    }

    MapSize(s) {
        match s.flat_map(s.operand(guards::SOURCES)) {
            Some((_, _, size)) => {
                *s.to(s.high()) = Term::small(size as i64);
                s.next(guards::SOURCES + 1)
            }
            None => s.slow(guards::map_size),
        }
    }

    Element(s) {
        let (index, tuple) = (s.operand(guards::SOURCES), s.operand(guards::SOURCES + 1));
        if index.is_small() && tuple.is_boxed() {
            let object = tuple.boxed_ptr();
            let (header, index) = (Header::from_raw(*object), index.small_value() as usize);
            if header.kind() == Kind::Tuple && index.wrapping_sub(1) < header.size() {
                *s.to(s.high()) = *object.add(index).cast::<Term>();
                return s.next(guards::SOURCES + 2);
            }
        }
        s.slow(guards::element)
    }

    MapGet(s) {
        let key = s.operand(guards::SOURCES);
        if key.is_immediate()
            && let Some((keys, values, size)) = s.flat_map(s.operand(guards::SOURCES + 1))
        {
            for i in 0..size {
                if (*keys.add(i)).is(key) {
                    *s.to(s.high()) = *values.add(i);
                    return s.next(guards::SOURCES + 2);
                }
            }
        }
        s.slow(guards::map_get)
    }
}
