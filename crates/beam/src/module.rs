//! A loaded module: all that a VM needs of a .beam file, independent of any VM state.

use md5::{Digest, Md5};

use crate::atoms::AtomTable;
use crate::container::BeamFile;
use crate::decode::Body;
use crate::error::LoadError;
use crate::frames::{self, Frames};
use crate::kinds::{self, Proofs};
use crate::liveness::{self, Liveness};
use crate::messages::{self, BuiltMessage, Messages};
use crate::records::{self, RecordDef};
use crate::scan::{self, CodeHeader, FunctionDef, LabelDef, LoopHead, Scanned, Tables};
use crate::tables::{self, Export, Import, Lambda, LineTable, Literals};
use crate::types::{self, Type};

/// A module that has passed the load-time scan. Names are indexes into `atoms`; 1 is the module's own.
pub struct Module {
    /// The atom table.
    pub atoms: AtomTable,
    /// The header of the code.
    pub header: CodeHeader,
    /// Functions that the code calls or refers to, by import index.
    pub imports: Vec<Import>,
    /// Exported functions; each is an entry of `functions`.
    pub exports: Vec<Export>,
    /// Local functions: for tools. Their labels are not checked.
    pub locals: Vec<Export>,
    /// Funs; each label is an entry of `functions`.
    pub lambdas: Vec<Lambda>,
    /// Literals, as external terms; they are not decoded, so each may still turn out to be bad.
    pub literals: Literals,
    /// The string table.
    pub strings: Box<[u8]>,
    /// The line table.
    pub lines: LineTable,
    /// Native record definitions (OTP 29).
    pub records: Vec<RecordDef>,
    /// Attributes, an external term; empty if absent.
    pub attributes: Box<[u8]>,
    /// Compile information, an external term; empty if absent.
    pub compile_info: Box<[u8]>,
    /// The functions, in the order of the code.
    pub functions: Vec<FunctionDef>,
    /// Index in `functions` of the one to run on loading.
    pub on_load: Option<u32>,
    types: Vec<Type>,
    labels: Vec<LabelDef>,
    loops: Vec<LoopHead>,
    code: Box<[u8]>,
    md5: [u8; 16],
    fingerprint: [u8; 16],
}

impl Module {
    /// About how many bytes its tables and its code take outside the struct itself.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.code)
            + self.literals.bytes()
            + self.strings.len()
            + self.attributes.len()
            + self.compile_info.len()
            + size_of_val(&*self.imports)
            + size_of_val(&*self.exports)
            + size_of_val(&*self.locals)
            + size_of_val(&*self.lambdas)
            + size_of_val(&*self.functions)
            + size_of_val(&*self.types)
            + size_of_val(&*self.labels)
            + size_of_val(&*self.loops)
    }

    /// Reads and validates a module from the bytes of a .beam file (gzip-compressed or not).
    pub fn load(bytes: &[u8]) -> Result<Module, LoadError> {
        Self::from_file(&BeamFile::parse(bytes)?)
    }

    /// Reads and validates a module from a file already split into chunks.
    pub fn from_file(file: &BeamFile<'_>) -> Result<Module, LoadError> {
        let atoms = AtomTable::parse(file)?;
        let chunk = file.need(b"Code")?;
        let (header, start) = scan::header(chunk)?;
        let code = chunk.get(start..).unwrap_or(&[]);
        let imports = tables::imports(file, &atoms)?;
        file.need(b"ExpT")?;
        let exports = tables::exports(file, b"ExpT", &atoms)?;
        let locals = tables::exports(file, b"LocT", &atoms)?;
        let lambdas = tables::lambdas(file, &atoms)?;
        let literals = Literals::parse(file)?;
        let strings = file.chunk(b"StrT").unwrap_or(&[]);
        let lines = LineTable::parse(file)?;
        let types = types::parse(file)?;
        let records = records::parse(file, &atoms, &literals)?;
        let tables = Tables {
            atoms: &atoms,
            imports: &imports,
            exports: &exports,
            lambdas: &lambdas,
            literals: literals.len(),
            strings: strings.len(),
            lines: lines.present.then_some(lines.items.len()),
            types: types.len(),
        };
        let Scanned { functions, labels, on_load, loops } = scan::scan(code, &header, &tables)?;
        let md5 = md5(file);
        let copy = |id| file.chunk(id).unwrap_or(&[]).into();
        Ok(Module {
            header,
            strings: strings.into(),
            attributes: copy(b"Attr"),
            compile_info: copy(b"CInf"),
            code: code.into(),
            md5,
            fingerprint: fingerprint(file, md5),
            atoms,
            imports,
            exports,
            locals,
            lambdas,
            literals,
            lines,
            records,
            functions,
            on_load,
            types,
            labels,
            loops,
        })
    }

    /// Scans the code once more: to measure and to test the scan by itself.
    #[doc(hidden)]
    pub fn rescan(&self) -> Result<(), LoadError> {
        let tables = Tables {
            atoms: &self.atoms,
            imports: &self.imports,
            exports: &self.exports,
            lambdas: &self.lambdas,
            literals: self.literals.len(),
            strings: self.strings.len(),
            lines: self.lines.present.then_some(self.lines.items.len()),
            types: self.types.len(),
        };
        scan::scan(&self.code, &self.header, &tables).map(drop)
    }

    /// The module's name.
    pub fn name(&self) -> &str {
        self.atoms.get(1).unwrap_or("")
    }

    /// The text of an atom; empty for nil (0) and for indexes beyond the table.
    pub fn atom(&self, index: u32) -> &str {
        self.atoms.get(index).unwrap_or("")
    }

    /// The module's MD5, as `beam_lib:md5/1` and `module_info(md5)` give it.
    pub fn md5(&self) -> [u8; 16] {
        self.md5
    }

    /// A hash of all that decides how its functions run: what the MD5 is of, and the types, which that leaves out.
    pub fn fingerprint(&self) -> [u8; 16] {
        self.fingerprint
    }

    /// What the compiler knew of a typed register; anything if the module has no type table.
    pub fn type_of(&self, index: u32) -> Type {
        self.types.get(index as usize).copied().unwrap_or(Type::ANY)
    }

    /// Where a label is defined.
    pub fn label(&self, label: u32) -> Option<LabelDef> {
        self.labels.get(label as usize).copied().filter(|def| (def.function as usize) < self.functions.len())
    }

    /// What is known of a label if it is one that is branched back to, other than by a receive.
    pub fn loop_head(&self, label: u32) -> Option<&LoopHead> {
        let index = self.loops.binary_search_by_key(&label, |head| head.label).ok()?;
        self.loops.get(index)
    }

    /// The index of the function that a call of this entry label enters.
    pub fn function_at(&self, entry: u32) -> Option<u32> {
        let def = self.label(entry)?;
        (self.functions.get(def.function as usize)?.entry == entry).then_some(def.function)
    }

    /// The index of a function, by name (an atom index) and arity. Linear.
    pub fn find_function(&self, name: u32, arity: u8) -> Option<u32> {
        self.functions.iter().position(|f| f.name == name && f.arity == arity).map(|index| index as u32)
    }

    /// Bytes of code.
    pub fn code_size(&self) -> usize {
        self.code.len()
    }

    /// Decodes one function: all its instructions, from the line or label before its func_info on.
    /// Fails only for an index beyond `functions`. An int_code_end that the code does not have stands at
    /// the end if the last instruction is a call: should it ever be reached, the callee returned although
    /// the compiler knew that it never does.
    pub fn decode_function(&self, index: u32) -> Result<Body, LoadError> {
        let function = self
            .functions
            .get(index as usize)
            .ok_or(LoadError::Code { offset: self.code.len(), what: "no function of this index" })?;
        Body::decode(&self.code, function, &self.imports)
    }

    /// What a function's code, decoded, proves of the terms that it reads and writes through.
    pub fn proofs(&self, index: u32, body: &Body) -> Proofs {
        let entry = self.functions.get(index as usize).map_or(0, |function| function.entry);
        kinds::proofs(self, entry, body)
    }

    /// The frames of a decoded function of this module.
    pub fn frames(&self, body: &Body) -> Frames {
        frames::frames(&self.imports, body)
    }

    /// What becomes of the objects that a decoded function of this module builds.
    pub fn messages(&self, body: &Body) -> Messages {
        messages::messages(self, body)
    }

    /// The messages of a decoded function of this module that are on top of the heap when they are sent.
    pub fn built_messages(&self, body: &Body) -> Vec<BuiltMessage> {
        if messages::sends(self, body) { self.messages(body).built } else { Vec::new() }
    }

    /// Which registers are live before each instruction of a decoded function of this module.
    pub fn liveness(&self, body: &Body) -> Liveness {
        liveness::liveness(&self.imports, &self.lambdas, body)
    }
}

/// The MD5 of a file of which nothing is known yet; nothing if what every module must have (atoms, imports, exports, a header of
/// the code) is absent or damaged. The code itself may be.
pub fn module_md5(file: &BeamFile<'_>) -> Option<[u8; 16]> {
    let atoms = AtomTable::parse(file).ok()?;
    scan::header(file.need(b"Code").ok()?).ok()?;
    tables::imports(file, &atoms).ok()?;
    file.need(b"ExpT").ok()?;
    tables::exports(file, b"ExpT", &atoms).ok()?;
    Some(md5(file))
}

/// The chunks that make up a module's identity, in the order they are hashed. `Recs` and `DbgB` joined
/// in OTP 29.
const ESSENTIAL: [&[u8; 4]; 11] =
    [b"Atom", b"AtU8", b"Code", b"StrT", b"ImpT", b"ExpT", b"FunT", b"LitT", b"Meta", b"Recs", b"DbgB"];

/// The MD5 of a file's essential chunks. The old unique numbers of funs count as zero, because the
/// compiler derived them from such a hash.
pub fn md5(file: &BeamFile<'_>) -> [u8; 16] {
    let mut hash = Md5::new();
    for id in ESSENTIAL {
        let Some(data) = file.chunk(id) else { continue };
        match data.split_at_checked(4) {
            Some((count, rows)) if id == b"FunT" => {
                hash.update(count);
                for row in rows.chunks_exact(24) {
                    hash.update(&row[..20]);
                    hash.update([0; 4]);
                }
            }
            _ => hash.update(data),
        }
    }
    hash.finalize().into()
}

fn fingerprint(file: &BeamFile<'_>, md5: [u8; 16]) -> [u8; 16] {
    let mut hash = Md5::new();
    hash.update(md5);
    hash.update(file.chunk(b"Type").unwrap_or(&[]));
    hash.finalize().into()
}
