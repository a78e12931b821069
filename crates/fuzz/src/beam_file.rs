//! Mutations of `.beam` files: inside one chunk, with the sizes around it put right, so that the damage gets past the
//! container.

use crate::external;
use crate::mutate::{bytes, change};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use myriad_testing::Random;

type Chunk = ([u8; 4], Vec<u8>);

/// One of the seeds, damaged.
pub fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let Some(seed) = random.pick(seeds) else { return Vec::new() };
    let mut chunks = chunks(seed);
    if chunks.is_empty() || random.once_in(20) {
        return bytes(random, seeds);
    }
    for _ in 0..1 + random.below(3) {
        // Half of the damage where most can go wrong.
        let code = chunks.iter().position(|c| &c.0 == b"Code");
        let at = if random.once_in(2) { code } else { None }.unwrap_or_else(|| random.below(chunks.len()));
        match random.below(16) {
            0 => drop(chunks.remove(at)),
            1 => {
                // The same chunk of another file.
                let other = random.pick(seeds).map(|s| self::chunks(s)).unwrap_or_default();
                if let Some(same) = other.into_iter().find(|c| c.0 == chunks[at].0) {
                    chunks[at] = same;
                }
            }
            _ if &chunks[at].0 == b"LitT" => literals(random, &mut chunks[at].1),
            _ => {
                for _ in 0..1 + random.below(4) {
                    change(random, &mut chunks[at].1, seeds);
                }
            }
        }
        if chunks.is_empty() {
            break;
        }
    }
    file(&chunks)
}

/// The chunks of a file, as far as it has any.
fn chunks(file: &[u8]) -> Vec<Chunk> {
    let mut found = Vec::new();
    let mut rest = file.get(12..).unwrap_or_default();
    while let [a, b, c, d, s0, s1, s2, s3, data @ ..] = rest {
        let size = u32::from_be_bytes([*s0, *s1, *s2, *s3]) as usize;
        let Some(content) = data.get(..size) else { break };
        found.push(([*a, *b, *c, *d], content.to_vec()));
        rest = data.get(size.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

fn file(chunks: &[Chunk]) -> Vec<u8> {
    let mut body = b"BEAM".to_vec();
    for (id, content) in chunks {
        body.extend(id);
        body.extend((content.len() as u32).to_be_bytes());
        body.extend(content);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    let mut file = b"FOR1".to_vec();
    file.extend((body.len() as u32).to_be_bytes());
    file.extend(body);
    file
}

/// Damages a compressed literal table, most often in one of its terms.
fn literals(random: &mut Random, chunk: &mut Vec<u8>) {
    let plain = chunk.split_first_chunk::<4>().and_then(|(size, packed)| {
        let mut plain = Vec::with_capacity(u32::from_be_bytes(*size).min(1 << 20) as usize);
        Decompress::new(true).decompress_vec(packed, &mut plain, FlushDecompress::Finish).ok().map(|_| plain)
    });
    let Some(mut plain) = plain.filter(|p| p.len() >= 4) else { return change(random, chunk, &[]) };
    let mut terms = Vec::new();
    let mut rest = &plain[4..];
    while let [s0, s1, s2, s3, data @ ..] = rest {
        let size = u32::from_be_bytes([*s0, *s1, *s2, *s3]) as usize;
        let Some(term) = data.get(..size) else { break };
        terms.push(term.to_vec());
        rest = &data[size..];
    }
    if random.once_in(4) || terms.is_empty() {
        change(random, &mut plain, &[]);
    } else {
        let at = random.below(terms.len());
        terms[at] = external::mutate(random, &terms);
        plain.truncate(4);
        for term in &terms {
            plain.extend((term.len() as u32).to_be_bytes());
            plain.extend(term);
        }
    }
    *chunk = (plain.len() as u32).to_be_bytes().to_vec();
    let mut packed = Vec::with_capacity(plain.len() + 64 + plain.len() / 8);
    let _ = Compress::new(Compression::fast(), true).compress_vec(&plain, &mut packed, FlushCompress::Finish);
    chunk.extend(packed);
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = include_bytes!("../../beam/tests/data/t25.beam");

    #[test]
    fn a_file_comes_out_as_it_went_in() {
        assert_eq!(file(&chunks(FILE)), FILE);
    }

    #[test]
    fn some_damage_gets_past_the_container() {
        let mut random = Random::new(7);
        let seeds = vec![FILE.to_vec()];
        let loaded = (0..2000).filter(|_| myriad_beam::Module::load(&mutate(&mut random, &seeds)).is_ok()).count();
        assert!((50..1800).contains(&loaded), "{loaded} of 2000 load");
    }
}
