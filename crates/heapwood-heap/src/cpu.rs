//! What the processor can do beyond its architecture's baseline. x86-64's has no instructions that count bits or clear the
//! lowest one (popcnt, blsr), so the loops that go over bitmaps are compiled twice, and a heap finds out once which of
//! the two it runs. Elsewhere the baseline has what they need, and there is one version.

/// Whether this processor has the bit instructions that the second versions are compiled with.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    bits: bool,
}

impl Cpu {
    /// A processor of which nothing is known: the first versions run.
    #[cfg(test)]
    pub(crate) const BASELINE: Self = Cpu { bits: false };

    /// Asks the processor.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let bits = std::arch::is_x86_feature_detected!("popcnt")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2");
        #[cfg(not(target_arch = "x86_64"))]
        let bits = false;
        Cpu { bits }
    }

    /// Whether the second versions may run.
    #[inline(always)]
    pub fn has_bits(self) -> bool {
        self.bits
    }
}

/// Calls a function that is always inlined, in a version of its caller compiled for what `$cpu` can do.
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
                // SAFETY: the processor has been asked.
                return unsafe { with_bits($($argument),+) };
            }
        }
        $function($($argument),+)
    }};
}
