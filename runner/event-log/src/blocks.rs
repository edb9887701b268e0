//! The three compression formats with a Java-specific framing of blocks instead of the standard
//! frame format.

use std::io::{self, Read};

use foreglow_import::{LZ4_MAGIC, LZF_MAGIC, SNAPPY_MAGIC};

/// Limit on the size of a block; larger lengths mean damage.
const MAX_BLOCK: usize = 64 << 20;

/// A framing of compressed blocks.
pub trait Framing {
    /// Reads the next block and appends its content to `out`; returns `false` at the end.
    ///
    /// # Errors
    /// The input ends inside a block, or the block is damaged.
    fn next(&mut self, input: &mut impl Read, out: &mut Vec<u8>) -> io::Result<bool>;
}

/// Decompresses a stream block by block.
pub struct Blocks<R, F> {
    input: R,
    framing: F,
    block: Vec<u8>,
    read: usize,
}

impl<R: Read, F: Framing> Blocks<R, F> {
    /// Decompresses an input with this framing.
    pub fn new(input: R, framing: F) -> Self {
        Self { input, framing, block: Vec::new(), read: 0 }
    }
}

impl<R: Read, F: Framing> Read for Blocks<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.block.len() {
            self.block.clear();
            self.read = 0;
            if !self.framing.next(&mut self.input, &mut self.block)? {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.block.len() - self.read);
        buffer[..count].copy_from_slice(&self.block[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

/// `LZ4BlockOutputStream` of lz4-java, in `.lz4` files.
#[derive(Default)]
pub struct Lz4 {
    packed: Vec<u8>,
}

impl Framing for Lz4 {
    fn next(&mut self, input: &mut impl Read, out: &mut Vec<u8>) -> io::Result<bool> {
        let mut header = [0; 21];
        if !fill(input, &mut header)? {
            return Ok(false);
        }
        let (magic, header) = header.split_at(LZ4_MAGIC.len());
        if magic != LZ4_MAGIC {
            return Err(damaged("an LZ4 block"));
        }
        let length =
            |at: usize| length(u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
        let (packed, whole) = (length(1)?, length(5)?);
        self.packed.resize(packed, 0);
        input.read_exact(&mut self.packed)?;
        match header[0] & 0xf0 {
            0x10 if packed == whole => out.extend_from_slice(&self.packed),
            0x20 => {
                out.resize(whole, 0);
                let count = lz4_flex::block::decompress_into(&self.packed, out).map_err(|_| damaged("an LZ4 block"))?;
                if count != whole {
                    return Err(damaged("an LZ4 block"));
                }
            }
            _ => return Err(damaged("an LZ4 block")),
        }
        Ok(true)
    }
}

/// `SnappyOutputStream` of snappy-java, in `.snappy` files.
#[derive(Default)]
pub struct Snappy {
    packed: Vec<u8>,
}

impl Framing for Snappy {
    fn next(&mut self, input: &mut impl Read, out: &mut Vec<u8>) -> io::Result<bool> {
        let mut four = [0; 4];
        if !fill(input, &mut four)? {
            return Ok(false);
        }
        // A stream begins with the magic number and two version numbers; a file may hold several
        // streams.
        if SNAPPY_MAGIC.starts_with(&four) {
            let mut rest = [0; 12];
            input.read_exact(&mut rest)?;
            return if SNAPPY_MAGIC.ends_with(&rest[..4]) { Ok(true) } else { Err(damaged("a Snappy stream")) };
        }
        self.packed.resize(length(u32::from_be_bytes(four))?, 0);
        input.read_exact(&mut self.packed)?;
        let wrong = |_| damaged("a Snappy block");
        let whole = snap::raw::decompress_len(&self.packed).map_err(wrong)?;
        out.resize(length(u32::try_from(whole).unwrap_or(u32::MAX))?, 0);
        snap::raw::Decoder::new().decompress(&self.packed, out).map_err(wrong)?;
        Ok(true)
    }
}

/// `LZFOutputStream` of compress-lzf, in `.lzf` files.
#[derive(Default)]
pub struct Lzf {
    packed: Vec<u8>,
}

impl Framing for Lzf {
    fn next(&mut self, input: &mut impl Read, out: &mut Vec<u8>) -> io::Result<bool> {
        let mut header = [0; 5];
        if !fill(input, &mut header)? {
            return Ok(false);
        }
        let [z, v, kind, high, low] = header;
        if [z, v] != LZF_MAGIC || kind > 1 {
            return Err(damaged("an LZF chunk"));
        }
        let mut whole = [0; 2];
        if kind == 1 {
            input.read_exact(&mut whole)?;
        }
        self.packed.resize(usize::from(u16::from_be_bytes([high, low])), 0);
        input.read_exact(&mut self.packed)?;
        if kind == 0 {
            out.extend_from_slice(&self.packed);
            return Ok(true);
        }
        unpack_lzf(&self.packed, out)
            .filter(|()| out.len() == usize::from(u16::from_be_bytes(whole)))
            .ok_or_else(|| damaged("an LZF chunk"))?;
        Ok(true)
    }
}

/// Decompresses LZF (Marc Lehmann). A control byte below 32 is followed by that many literals plus
/// one. Any other starts a back reference: its 3 high bits hold the length (7 means that the next
/// byte is added), the following 13 bits the distance.
fn unpack_lzf(packed: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = packed;
    let next = |rest: &mut &[u8]| {
        let (first, after) = rest.split_first()?;
        *rest = after;
        Some(usize::from(*first))
    };
    while let Some(control) = next(&mut rest) {
        if control < 32 {
            let (literals, after) = rest.split_at_checked(control + 1)?;
            out.extend_from_slice(literals);
            rest = after;
            continue;
        }
        let mut count = (control >> 5) + 2;
        if count == 9 {
            count += next(&mut rest)?;
        }
        let distance = ((control & 0x1f) << 8 | next(&mut rest)?) + 1;
        let from = out.len().checked_sub(distance)?;
        // The source may overlap the destination.
        for at in from..from + count {
            out.push(out[at]);
        }
    }
    Some(())
}

/// Fills a buffer; returns `false` if the input has ended.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    let mut first = [0];
    loop {
        match input.read(&mut first) {
            Ok(0) => return Ok(false),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer[0] = first[0];
    input.read_exact(&mut buffer[1..])?;
    Ok(true)
}

fn length(count: u32) -> io::Result<usize> {
    usize::try_from(count).ok().filter(|count| *count <= MAX_BLOCK).ok_or_else(|| damaged("the length of a block"))
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is damaged"))
}
