//! The runs as tab-separated values, a line each, beneath comments with the command and the machine. Gaps are in
//! nanoseconds; a utilisation that is not known is empty.

use super::super::build::Skipped;
use super::rounds::Report;
use super::summary::PERCENTILES;
use std::fmt::Write;

pub(crate) fn write(report: &Report) -> String {
    let mut text = String::new();
    if let Some(header) = &report.header {
        text += &format!("# {header}\n");
    }
    for Skipped { name, why } in &report.skipped {
        text += &format!("# skipped: {name}: {}\n", one_line(why));
    }
    for size in &report.sizes {
        for Skipped { name, why } in &size.failed {
            text += &format!("# failed: {name}: {}\n", one_line(why));
        }
    }
    text += "live_bytes\tthreads\tframes\tms\tprogram\tversion\tmemory\trun\t";
    for (label, _) in PERCENTILES {
        text += &format!("gap_{}_ns\t", label.trim_end_matches(" %"));
    }
    text += "gap_max_ns\tmmu_1ms\tmmu_10ms\tmmu_100ms\tcpu_ns_a_step\tsteps_a_s\tmax_rss_bytes\n";
    for size in &report.sizes {
        let setup = size.setup;
        for entry in &size.entries {
            for (k, run) in entry.runs.iter().enumerate() {
                let mut cells = vec![
                    setup.live_bytes.to_string(),
                    setup.threads.to_string(),
                    setup.depth.to_string(),
                    setup.ms.to_string(),
                    entry.program.name.clone(),
                    one_line(&entry.version()),
                    entry.memory_text(),
                    (k + 1).to_string(),
                ];
                cells.extend(run.gaps_ns.iter().chain([&run.max_ns]).map(u64::to_string));
                cells.extend(
                    run.utilisation.map(|share| share.map_or(String::new(), |share| format!("{share:.4}"))),
                );
                cells.extend([format!("{:.2}", run.cpu_ns_a_step), format!("{:.0}", run.steps_a_s)]);
                cells.push(run.rss_bytes.to_string());
                writeln!(text, "{}", cells.join("\t")).expect("strings take all");
            }
        }
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
