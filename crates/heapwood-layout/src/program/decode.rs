//! Expanding a program into bits. Whole words are stored once, in order. A repeat reads its bits from the stored words
//! and from the partial one, so the output is the only memory, there is no recursion, and a nested repeat is expanded
//! once and copied afterwards. Repeats that read from the output are Cox's in Go's commit 512f75e8 (2015); its decoder
//! works on bytes, this one on words. Invariant: a word is stored once all its 64 bits are known, and the last one at
//! the end of the program; bits outside the program keep their values.
//!
//! | a repeat of the last n bits | is done by |
//! |---|---|
//! | n at most 64 | multiplying the bits up to a word and deriving each word from the one before |
//! | n divides 64, or all bits are the same | storing the same word again and again |
//! | n above 64 | joining two earlier words by shifts, n bits back, then 2n, 4n, ... |
//! | once any multiple of n bits is a whole number of words | copying words, in stretches that double |

use super::check::Program;
use super::ops::{LONG_LITERAL, REPEAT};

impl Program<'_> {
    /// Writes the bits of the program, one for each word of the type, from bit `start_bit` of `out` on; bit `i` is
    /// `out[i / 64] >> (i % 64)`. All other bits of `out` keep their values.
    ///
    /// # Panics
    /// If `out` has fewer than `start_bit + words()` bits.
    pub fn decode(&self, out: &mut [u64], start_bit: usize) {
        let words = self.words() as usize;
        emit(out, start_bit, Some(words), |sink| sink.run(self.bytes()));
    }

    /// The same for `times` consecutive elements of the type.
    ///
    /// # Panics
    /// If `out` has fewer than `start_bit + times * words()` bits.
    pub fn decode_times(&self, times: usize, out: &mut [u64], start_bit: usize) {
        let words = self.words() as usize;
        emit(out, start_bit, words.checked_mul(times), |sink| {
            sink.run(self.bytes());
            sink.repeat(words, words * (times - 1));
        });
    }
}

/// [`decode_times`](Program::decode_times) for elements of `words` words with a mask.
///
/// # Panics
/// If `out` has fewer than `start_bit + times * words` bits, or the mask fewer than `words`.
pub fn mask_times(mask: &[u64], words: usize, times: usize, out: &mut [u64], start_bit: usize) {
    emit(out, start_bit, words.checked_mul(times), |sink| {
        for (block, &bits) in mask[..words.div_ceil(64)].iter().enumerate() {
            let count = (words - block * 64).min(64) as u32;
            sink.emit(bits & low_some(count), count);
        }
        sink.repeat(words, words * (times - 1));
    });
}

/// Calls a function that writes `bits` bits from bit `start_bit` of `out` on, unless there are none; panics on
/// overflow.
#[inline(always)]
fn emit(out: &mut [u64], start_bit: usize, bits: Option<usize>, write: impl FnOnce(&mut Sink<'_>)) {
    let end = bits.and_then(|bits| start_bit.checked_add(bits)).filter(|end| end.div_ceil(64) <= out.len());
    let Some(end) = end else { does_not_fit(bits, start_bit, out.len()) };
    if end == start_bit {
        return;
    }
    // Nothing beyond the last bit is reachable from here on.
    let out = &mut out[start_bit / 64..end.div_ceil(64)];
    let used = (start_bit % 64) as u32;
    let mut sink = Sink { at: 0, held: out[0] & low(used), used, out };
    write(&mut sink);
    if sink.used != 0 {
        let last = &mut sink.out[sink.at];
        *last = *last & !low(sink.used) | sink.held;
    }
}

#[cold]
#[inline(never)]
fn does_not_fit(bits: Option<usize>, start_bit: usize, len: usize) -> ! {
    let bits = bits.unwrap_or(usize::MAX);
    panic!("the {bits} bits of the type do not fit from bit {start_bit} on into {len} words of 64 bits")
}

/// The output so far: the words below `at` are full, and `used` bits (0 to 63) of the next are in `held`, whose other
/// bits are zero. Before the first bit of the program, `held` has the bits that precede it.
struct Sink<'o> {
    out: &'o mut [u64],
    at: usize,
    held: u64,
    used: u32,
}

/// A mask of the lowest `n` bits, at most 63.
#[inline(always)]
const fn low(bits: u32) -> u64 {
    !(u64::MAX << bits)
}

/// A mask of the lowest `n` bits, 1 to 64.
#[inline(always)]
const fn low_some(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// For patterns of 1 to 64 bits: the factor with every n-th bit set, by which a product repeats the pattern.
const SPREAD: [u64; 65] = {
    let mut table = [0; 65];
    let mut n = 1;
    while n <= 64 {
        let mut bit = 0;
        while bit < 64 {
            table[n] |= 1 << bit;
            bit += n;
        }
        n += 1;
    }
    table
};

/// The bits of a word that are whole patterns: the largest multiple of n up to 64, which is above 32.
const WHOLE: [u8; 65] = {
    let mut table = [0; 65];
    let mut n = 1;
    while n <= 64 {
        table[n] = (64 - 64 % n) as u8;
        n += 1;
    }
    table
};

/// Up to this many words, each is derived from earlier ones; a call of memmove costs as much as some twenty words.
const FEW_WORDS: usize = 24;

/// Copied stretches grow to at most 16 KiB, so that the source stays in the first-level cache.
const STRETCH: usize = 2048;

/// Repeated bits are joined into longer ones up to 256 KiB of output, for the same reason.
const FAR_BITS: usize = 1 << 21;

impl Sink<'_> {
    /// Runs the instructions. They were checked, so counts are complete and in range; otherwise this panics.
    #[inline(always)]
    fn run(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let [first, after @ ..] = rest
            && *first != 0
        {
            rest = after;
            if first & REPEAT == 0 {
                let bits = if *first == LONG_LITERAL { varint(&mut rest) } else { *first as usize };
                let (literal, after) = rest.split_at(bits.div_ceil(8));
                rest = after;
                self.literal(bits, literal);
            } else {
                let last = if *first == REPEAT { varint(&mut rest) } else { (first & !REPEAT) as usize };
                let times = varint(&mut rest);
                self.repeat(last, last * times);
            }
        }
    }

    /// Emits `total` more bits by repeating the last `n`.
    #[inline(always)]
    fn repeat(&mut self, n: usize, total: usize) {
        match (total, n) {
            (0, _) => {}
            (_, ..=64) => self.repeat_few(n, total),
            _ => self.repeat_many(n, total),
        }
    }

    /// Emits 1 to 64 bits; higher bits are zero.
    #[inline(always)]
    fn emit(&mut self, bits: u64, count: u32) {
        self.held |= bits << self.used;
        let used = self.used + count;
        if used >= 64 {
            self.out[self.at] = self.held;
            self.at += 1;
            self.held = bits >> 1 >> (63 - self.used);
        }
        self.used = used % 64;
    }

    #[inline(always)]
    fn literal(&mut self, bits: usize, bytes: &[u8]) {
        if let [byte] = bytes {
            return self.emit(u64::from(*byte), bits as u32);
        }
        let (pieces, rest) = bytes.split_at(bits / 64 * 8);
        if !pieces.is_empty() {
            self.held = store_pieces(&mut self.out[self.at..], self.held, self.used, pieces);
            self.at += pieces.len() / 8;
        }
        if !rest.is_empty() {
            let piece = rest.iter().rev().fold(0, |piece, byte| piece << 8 | u64::from(*byte));
            self.emit(piece, (bits % 64) as u32);
        }
    }

    /// The last 1 to 64 emitted bits.
    #[inline(always)]
    fn last(&self, count: u32) -> u64 {
        if count <= self.used {
            return self.held >> (self.used - count) & low_some(count);
        }
        let before = count - self.used;
        (self.held << 1 << (before - 1) | self.out[self.at - 1] >> (64 - before)) & low_some(count)
    }

    /// Emits `total` more bits by repeating the last `n`, at most 64.
    #[inline(always)]
    fn repeat_few(&mut self, n: usize, total: usize) {
        let sequence = self.last(n as u32).wrapping_mul(SPREAD[n]);
        if total <= 64 {
            return self.emit(sequence & low_some(total as u32), total as u32);
        }
        let whole = u32::from(WHOLE[n]);
        let used = self.used;
        self.out[self.at] = self.held | sequence << used;
        self.at += 1;
        let mut word = sequence >> 1 >> (63 - used) | following(sequence, whole) << used;
        let left = total - (64 - used) as usize;
        let words = left / 64;
        if following(word, whole) == word {
            self.out[self.at..][..words].fill(word);
        } else {
            word = store_patterns(&mut self.out[self.at..][..words], word, n);
        }
        self.at += words;
        self.used = (left % 64) as u32;
        self.held = word & low(self.used);
    }

    /// 1 to 64 bits from `at` on; the last is in a full word.
    #[inline(always)]
    fn bits_at(&self, at: usize, count: u32) -> u64 {
        let (word, shift) = (at / 64, (at % 64) as u32);
        (self.out[word] >> shift | self.out[word + 1] << 1 << (63 - shift)) & low_some(count)
    }

    /// Emits `total` more bits by repeating the last `n`, more than 64.
    #[inline(always)]
    fn repeat_many(&mut self, n: usize, total: usize) {
        (self.at, self.held, self.used) = repeat_many(self.out, (self.at, self.held, self.used), n, total);
    }
}

// The following functions are not inlined and take the fields of the sink by value. With their addresses taken, the
// fields would be kept in memory, at the cost of short programs, which call none of these.

/// The word after this one in a repeated pattern, where a word has `whole` bits of whole patterns. The bits above them
/// begin the next pattern, which continues in the next word: so the highest `whole` bits of a word are the lowest of
/// the next, and the bits above repeat them. If `whole` is 64, all words are equal.
#[inline(always)]
fn following(word: u64, whole: u32) -> u64 {
    let patterns = word >> (64 - whole);
    // With 64 this shifts by zero.
    patterns | patterns.wrapping_shl(whole)
}

/// Stores a word and its successors in a repeated pattern of `n` bits; returns the word after them.
#[inline(never)]
fn store_patterns(out: &mut [u64], mut word: u64, n: usize) -> u64 {
    let whole = u32::from(WHOLE[n]);
    // The number of words after which the words repeat.
    let period = n >> n.trailing_zeros();
    let words = out.len();
    let derived = if words <= 2 * FEW_WORDS { words } else { words.min(period * FEW_WORDS.div_ceil(period)) };
    for out in &mut out[..derived] {
        *out = word;
        word = following(word, whole);
    }
    if derived == words {
        return word;
    }
    copy_words(out, derived, derived, words - derived);
    following(out[words - 1], whole)
}

/// Stores full pieces of eight bytes: each completes a word with the held bits, and its rest is held. Returns the held
/// bits after the last.
#[inline(never)]
fn store_pieces(out: &mut [u64], held: u64, used: u32, pieces: &[u8]) -> u64 {
    let (pieces, _) = pieces.as_chunks::<8>();
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return held };
    let out = &mut out[..pieces.len()];
    out[0] = held | u64::from_le_bytes(*first) << used;
    // Without a dependency through the held word, several pieces can be processed at a time.
    for (out, pair) in out[1..].iter_mut().zip(pieces.windows(2)) {
        let (low, high) = (u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]));
        *out = low >> 1 >> (63 - used) | high << used;
    }
    u64::from_le_bytes(*last) >> 1 >> (63 - used)
}

/// Emits `total` more bits by repeating the last `n`, more than 64, in the sink with these fields; returns the new
/// ones.
#[inline(never)]
fn repeat_many(
    out: &mut [u64],
    (at, held, used): (usize, u64, u32),
    n: usize,
    total: usize,
) -> (usize, u64, u32) {
    let mut sink = Sink { out, at, held, used };
    // Bits up to the next word boundary. Their source is more than 64 bits away, so it lies in full words.
    let begin = sink.at * 64 + sink.used as usize - n;
    let mut left = total;
    if sink.used != 0 {
        let count = left.min((64 - sink.used) as usize);
        sink.emit(sink.bits_at(begin, count as u32), count as u32);
        left -= count;
    }
    // Whole words. From `begin` on the bits repeat every `distance` bits.
    let mut words = left / 64;
    let mut distance = n;
    while words != 0 {
        let back = distance.div_ceil(64);
        let shift = (back * 64 - distance) as u32;
        if shift == 0 {
            copy_words(sink.out, sink.at, back, words);
            sink.at += words;
            break;
        }
        // Each word is joined from two; the later one must not be written in this loop.
        let count = words.min(back - 1);
        let (full, free) = sink.out.split_at_mut(sink.at);
        let from = &full[full.len() - back..][..count + 1];
        for (to, pair) in free[..count].iter_mut().zip(from.windows(2)) {
            *to = pair[0] >> shift | pair[1] << (64 - shift);
        }
        sink.at += count;
        words -= count;
        if sink.at * 64 - begin >= 2 * distance && distance < FAR_BITS {
            distance *= 2;
        }
    }
    let count = (left % 64) as u32;
    if count != 0 {
        sink.emit(sink.bits_at(sink.at * 64 + sink.used as usize - n, count), count);
    }
    (sink.at, sink.held, sink.used)
}

/// Stores words from `at` on, each equal to the one `period` words before it.
#[inline(never)]
fn copy_words(out: &mut [u64], mut at: usize, period: usize, mut words: usize) {
    let mut stretch = period;
    if period < FEW_WORDS {
        // A stretch that is long enough to copy: the period several times.
        stretch = period * FEW_WORDS.div_ceil(period);
        let derived = words.min(stretch - period);
        for at in at..at + derived {
            out[at] = out[at - period];
        }
        at += derived;
        words -= derived;
    }
    while words != 0 {
        let count = words.min(stretch);
        out.copy_within(at - stretch..at - stretch + count, at);
        at += count;
        words -= count;
        if stretch < STRETCH {
            stretch *= 2;
        }
    }
}

/// Reads a checked count.
#[inline(always)]
fn varint(rest: &mut &[u8]) -> usize {
    let (first, after) = rest.split_first().expect("a checked program has the count");
    *rest = after;
    let mut value = usize::from(first & 0x7f);
    if *first >= 0x80 {
        let mut shift = 7;
        loop {
            let (byte, after) = rest.split_first().expect("a checked program has the count");
            *rest = after;
            value |= usize::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                break;
            }
            shift += 7;
        }
    }
    value
}
