//! A readable listing of a module's code, much like the `.S` files of OTP's compiler: one instruction
//! a line, names in place of indexes. For tests and for the `myriad` command.

use std::fmt::{self, Write};

use crate::decode::{Arg, Instr, Reg};
use crate::module::Module;
use crate::opcode::{Kind, Op};

impl Module {
    /// The listing of one function; empty if there is no such function.
    pub fn disasm_function(&self, index: u32) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = self.write_function(&mut out, index);
        out
    }

    /// One instruction, names in place of indexes.
    pub fn disasm_instruction(&self, instr: &Instr<'_>) -> String {
        let mut out = format!("{} ", instr.op.name());
        // Writing to a String does not fail.
        let _ = self.write_operands(&mut out, instr);
        out.truncate(out.trim_end_matches([' ', ',']).len());
        out
    }

    /// The listing of the whole module.
    pub fn disasm(&self) -> String {
        let mut out = format!("module {}\n", self.name());
        for export in &self.exports {
            let _ = writeln!(out, "export {}/{}", self.atom(export.function), export.arity);
        }
        for index in 0..self.functions.len() as u32 {
            out.push('\n');
            let _ = self.write_function(&mut out, index);
        }
        out
    }

    fn write_function(&self, out: &mut String, index: u32) -> fmt::Result {
        let (Some(function), Ok(body)) = (self.functions.get(index as usize), self.decode_function(index)) else {
            return Ok(());
        };
        writeln!(out, "function {}/{}, entry {}", self.atom(function.name), function.arity, function.entry)?;
        for instr in body.iter() {
            match instr.op {
                Op::Label => write!(out, "  label ")?,
                op => write!(out, "    {} ", op.name())?,
            }
            self.write_operands(out, &instr)?;
            while out.ends_with([' ', ',']) {
                out.pop();
            }
            out.push('\n');
        }
        Ok(())
    }

    fn write_operands(&self, out: &mut String, instr: &Instr<'_>) -> fmt::Result {
        for (kind, arg) in instr.op.kinds().iter().zip(instr.args) {
            match (kind, arg) {
                (Kind::Import | Kind::Bif0 | Kind::Bif1 | Kind::Bif2 | Kind::Bif3, Arg::U(import)) => {
                    self.write_import(out, *import)?;
                }
                (Kind::Entry, Arg::Label(label)) => self.write_entry(out, *label)?,
                (Kind::Lambda | Kind::FunTag, Arg::U(lambda)) => self.write_lambda(out, *lambda)?,
                (Kind::Line, Arg::U(line)) => self.write_line(out, *line)?,
                (Kind::Live, Arg::U(live)) => write!(out, "live {live}")?,
                _ => self.write_arg(out, arg)?,
            }
            out.push_str(", ");
        }
        Ok(())
    }

    fn write_import(&self, out: &mut String, index: u64) -> fmt::Result {
        match self.imports.get(index as usize) {
            Some(i) => write!(out, "{}:{}/{}", self.atom(i.module), self.atom(i.function), i.arity),
            None => write!(out, "import {index}"),
        }
    }

    fn write_entry(&self, out: &mut String, label: u32) -> fmt::Result {
        let function = self.function_at(label).and_then(|index| self.functions.get(index as usize));
        match function {
            Some(f) => write!(out, "{}/{}", self.atom(f.name), f.arity),
            None => write!(out, "f{label}"),
        }
    }

    fn write_lambda(&self, out: &mut String, index: u64) -> fmt::Result {
        match self.lambdas.get(index as usize) {
            Some(l) => write!(out, "fun {}/{}", self.atom(l.function), l.arity),
            None => write!(out, "fun {index}"),
        }
    }

    fn write_line(&self, out: &mut String, operand: u64) -> fmt::Result {
        match self.lines.get(operand as u32) {
            Some(line) => match self.lines.file(line.file) {
                Some(file) => write!(out, "{file}:{}", line.line),
                None => write!(out, "{}.erl:{}", self.name(), line.line),
            },
            None => write!(out, "unknown"),
        }
    }

    fn write_arg(&self, out: &mut String, arg: &Arg) -> fmt::Result {
        match arg {
            Arg::Atom(atom) => write!(out, "'{}'", self.atom(*atom).escape_default()),
            Arg::Typed(reg, index) => {
                match reg {
                    Reg::X(x) => write!(out, "x{x}")?,
                    Reg::Y(y) => write!(out, "y{y}")?,
                }
                write!(out, ":t{index}")
            }
            Arg::Alloc(need) => {
                write!(out, "{}", need.words)?;
                if need.floats != 0 {
                    write!(out, "+{}fl", need.floats)?;
                }
                if need.funs != 0 {
                    write!(out, "+{}fun", need.funs)?;
                }
                Ok(())
            }
            Arg::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    // Operands hold no list within a list, so this goes one level deep.
                    self.write_arg(out, item)?;
                }
                out.push(']');
                Ok(())
            }
            _ => write!(out, "{arg:?}"),
        }
    }
}
