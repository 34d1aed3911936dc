//! Writes the tables of `o200k_base` in the form in which they are used.
//!
//! Decoding and indexing the vocabulary at run time took 50 to 110 ms, several times what else a
//! command does. Made here and linked in, the tables cost nothing until a page of them is touched.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use regex_syntax::hir::{Class, HirKind};
use xxhash_rust::xxh3::xxh3_64;

/// Number of buckets of the vocabulary; `src/vocabulary.rs` takes it from the table.
const BUCKETS: usize = 1 << 17;

/// Unicode classes that the splitting pattern tells apart, in the order of `Class` in
/// `src/pieces.rs`. Every other character is of class 0.
const CLASSES: [&str; 6] = [
    r"\s",
    r"\p{N}",
    r"\p{M}",
    r"[\p{Lm}\p{Lo}]",
    r"[\p{Lu}\p{Lt}]",
    r"\p{Ll}",
];

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").context("cargo sets OUT_DIR")?;
    std::fs::write(Path::new(&out).join("vocabulary.bin"), vocabulary()?)?;
    std::fs::write(Path::new(&out).join("classes.bin"), classes()?)?;
    Ok(())
}

/// A hash table of tokens: the end of each bucket as `u32`, then the buckets. An entry is the length
/// of the token, its rank in three bytes, and the token. All numbers are little-endian.
fn vocabulary() -> Result<Vec<u8>> {
    let encoding = tiktoken::get_encoding("o200k_base").context("the vocabulary is a feature")?;
    let mut buckets: Vec<Vec<u8>> = vec![Vec::new(); BUCKETS];
    for rank in 0..u32::try_from(encoding.vocab_size())? {
        let token = encoding.decode(&[rank]);
        ensure!(!token.is_empty(), "ranks have no gaps");
        let bucket = usize::try_from(xxh3_64(&token) % BUCKETS as u64)?;
        let bucket = buckets.get_mut(bucket).context("hashes are reduced")?;
        bucket.push(u8::try_from(token.len())?);
        bucket.extend(rank.to_le_bytes().into_iter().take(3));
        bucket.extend(token);
    }
    let mut table = Vec::new();
    let mut end = 0_u32;
    for bucket in &buckets {
        end += u32::try_from(bucket.len())?;
        table.extend(end.to_le_bytes());
    }
    table.extend(buckets.concat());
    Ok(table)
}

/// The class of every character: the number of a page for each 256 characters, then the pages.
fn classes() -> Result<Vec<u8>> {
    let mut all = vec![0_u8; 0x11_0000];
    for (number, pattern) in (1..).zip(CLASSES) {
        let parsed = regex_syntax::parse(pattern)?;
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else {
            anyhow::bail!("{pattern} is a class");
        };
        for range in class.ranges() {
            let range = range.start() as usize..=range.end() as usize;
            all.get_mut(range).context("in Unicode")?.fill(number);
        }
    }
    let mut pages: Vec<&[u8]> = Vec::new();
    let mut table = Vec::new();
    for page in all.chunks(256) {
        let known = pages.iter().position(|known| *known == page);
        let number = known.unwrap_or_else(|| {
            pages.push(page);
            pages.len() - 1
        });
        table.push(u8::try_from(number)?);
    }
    table.extend(pages.concat());
    Ok(table)
}
