//! What a caller sets beside the specification. Must not know: the command line.

use nest_feature::Features;

/// What the command line may override.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--model NAME`, one of [`crate::MODELS`]: in place of the specification's.
    pub model: Option<String>,
    /// Features that the command selects, such as the trace (`nest run --trace`).
    pub features: Features,
    /// The text of the C files that are compiled with it: functions that they name are compiled in.
    pub beside: Vec<String>,
}
