//! Features of the processor beyond the baseline of its architecture. That of x86-64 has no instructions to count bits
//! or clear the lowest one (popcnt, blsr), so loops over bitmaps are compiled twice, and each heap detects once which
//! version to run. Other baselines have these instructions, and one version.

/// Whether this processor has the bit instructions of the second versions, and vectors of four words.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    bits: bool,
    vectors: bool,
}

impl Cpu {
    /// An unknown processor, on which the first versions run.
    #[cfg(test)]
    pub(crate) const BASELINE: Self = Cpu { bits: false, vectors: false };

    /// Detects the processor's features.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let bits = std::arch::is_x86_feature_detected!("popcnt")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2");
        #[cfg(target_arch = "x86_64")]
        let vectors = bits && std::arch::is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        let (bits, vectors) = (false, false);
        Cpu { bits, vectors }
    }

    /// Whether the second versions may run.
    #[inline(always)]
    pub fn has_bits(self) -> bool {
        self.bits
    }

    /// Whether it has AVX2, and the bit instructions.
    #[inline(always)]
    pub fn has_vectors(self) -> bool {
        self.vectors
    }
}

/// Calls a function that is always inlined, from a wrapper compiled for the features of `$cpu`.
#[macro_export]
macro_rules! by_cpu {
    ($cpu:expr, $function:path, $(<$generic:ident: $bound:path>)? ($($argument:ident: $type:ty),+) $(-> $result:ty)?) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "popcnt,bmi1,bmi2")]
            fn with_bits$(<$generic: $bound>)?($($argument: $type),+) $(-> $result)? {
                $function($($argument),+)
            }
            if $crate::cpu::Cpu::has_bits($cpu) {
                // SAFETY: the processor's features were detected.
                return unsafe { with_bits($($argument),+) };
            }
        }
        $function($($argument),+)
    }};
}
