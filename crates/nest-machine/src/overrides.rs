//! What a caller sets beside the specification. Must not know: the command line.

/// What the command line may override.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--model NAME`, one of [`crate::MODELS`]: in place of the specification's.
    pub model: Option<String>,
    /// Compile the trace feature in (`nest run --trace`, the conformance suite).
    pub trace: bool,
    /// The text of the C files that are compiled with it: functions that they name are compiled in.
    pub beside: Vec<String>,
}
