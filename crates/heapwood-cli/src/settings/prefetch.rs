//! The one setting that is made when the command is built: whether an allocation prefetches the new object. It is a `cfg` of the
//! compiler, as `RUSTFLAGS='--cfg heapwood_prefetch="off"'` sets it; heapwood-heap's `prefetch.rs` reads it, and the workspace's
//! Cargo.toml lists its values.

use heapwood_report::legible::escaped;

/// The name for `--ab`.
pub(crate) const NAME: &str = "prefetch";

const VALUES: [&str; 2] = ["off", "object"];

/// The number and the word of a value.
pub(crate) fn value(text: &str) -> Result<(usize, &'static str), String> {
    let found = VALUES.iter().position(|value| *value == text);
    let refused = || format!("{NAME} cannot be {}: it is one of {}", escaped(text), VALUES.join(", "));
    found.map(|k| (k, VALUES[k])).ok_or_else(refused)
}

/// The setting with its values, for help.
pub(crate) fn help() -> String {
    let default = if cfg!(target_arch = "aarch64") { "object" } else { "off" };
    format!(
        "{NAME}, the prefetch of an allocation: off (none), object (the object, before it is written). The \
         default here is {default}."
    )
}

/// The compiler's flag for a value.
pub(crate) fn flags(value: &str) -> String {
    format!("--cfg heapwood_prefetch=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_words() {
        assert_eq!((value("off"), value("object")), (Ok((0, "off")), Ok((1, "object"))));
        assert_eq!(value("most"), Err("prefetch cannot be most: it is one of off, object".into()));
        assert_eq!(flags("off"), "--cfg heapwood_prefetch=\"off\"");
        // No option of a heap may have the same name.
        assert!(heapwood_gc::OptionInfo::find(NAME).is_none());
    }

    /// A value that the code does not know would be built as the default, and be compared with itself.
    #[test]
    fn the_manifest_lists_exactly_these_values() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let known =
            format!("cfg(heapwood_prefetch, values({}))", VALUES.map(|v| format!("\"{v}\"")).join(", "));
        assert!(manifest.contains(&known), "{known} is not in Cargo.toml");
    }
}
