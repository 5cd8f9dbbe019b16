//! `nest test --generate`: writes pages with conversations for what is not covered.
//!
//! Each conversation is run several times and must take the same course. Finally the runner runs
//! the pages in every model, as it will in later tests, and removes what fails. Must not know:
//! which conversations cover what.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use nest_check::{Act, Coverage};
use nest_machine::reach::Reach;
use nest_machine::{Framing, Machine};

use super::branches;
use super::explore::{Explorer, Target, targets};
use super::proposal::{Proposal, parting};
use super::runner::{Request, Runner};
use super::script::{Entry, Script, Secrecy, Talk};
use crate::args::Test;
use crate::source;
use crate::term::{self, FAINT, Failure, Progress, STRONG};

/// The maximum number of proposed conversations, because somebody has to read them.
const MOST: usize = 40;
/// The maximum number of conversations per page, because all of them are run for each split of one.
const ON_A_PAGE: usize = 8;
/// The maximum number of conversations of a script.
const MOST_CUTS: usize = 40_000;
/// The maximum number of existing conversations to learn from.
const LEARNED: usize = 200;
/// The maximum number of reasons shown.
const SHOWN: usize = 20;
/// 400 days and 05:43:21 hours: all parts of a date differ then.
const LATER: Duration = Duration::from_secs(34_580_601);

/// The inputs for proposals.
pub struct Maker<'a> {
    pub args: &'a Test,
    pub machine: &'a Machine,
    pub reach: &'a Reach,
    pub script: Script,
}

/// The first page: as named by the user, or beside the specification.
pub fn output(args: &Test) -> Result<PathBuf, Failure> {
    let place = args.output.clone().unwrap_or_else(|| {
        let stem = args.file.file_stem().unwrap_or_default();
        let name = format!("{}-cases.md", stem.display());
        args.file.with_file_name(name)
    });
    if place.extension().is_none_or(|e| e != "md") {
        return Err(Failure::Usage(format!(
            "{} is not a page; its name must end in .md",
            place.display()
        )));
    }
    let consumed = (1..=MOST).map(|n| numbered(&place, n)).find(|p| p.exists());
    if let Some(consumed) = consumed.filter(|_| !args.force) {
        return Err(Failure::new(format!(
            "{} is there; name another place with -o, or overwrite it with --force",
            consumed.display()
        )));
    }
    // Checks that the page can be written before the work starts.
    let folder = source::directory(&place);
    if args.file.exists() && folder.exists() {
        relative(&args.file, &folder)?;
    }
    tempfile::tempfile_in(&folder)
        .map_err(|e| Failure::io(format!("cannot write into {}", folder.display()), &e))?;
    Ok(place)
}

/// Whether a page, given by its real path, will be overwritten, so that its present contents do not
/// count.
pub fn is_remade(place: &Path, page: &Path) -> bool {
    let mut all = (1..=MOST).map(|n| numbered(place, n));
    all.any(|made| std::fs::canonicalize(made).is_ok_and(|made| made == page))
}

fn numbered(place: &Path, n: usize) -> PathBuf {
    let stem = place.file_stem().unwrap_or_default().display();
    match n {
        1 => place.to_owned(),
        n => place.with_file_name(format!("{stem}-{n}.md")),
    }
}

impl Maker<'_> {
    /// Searches, checks and writes conversations, and counts them. `acts`: existing conversations.
    pub fn make(
        &self,
        coverage: &mut Coverage,
        place: &Path,
        acts: Vec<Vec<Act>>,
        requested: &Request,
        runner: &mut Runner,
    ) -> Result<(), Failure> {
        let before = coverage.missing().len();
        if before == 0 && coverage.is_complete() {
            term::print("everything is covered: no tests are generated\n");
            return Ok(());
        }
        if !coverage.is_complete() {
            return Err(Failure::new(
                "there are too many sets of states: no tests can be generated",
            ));
        }
        let mut explorer = Explorer::new(self.machine, self.reach, coverage, &self.script);
        let progress = Progress::start("looking for conversations");
        for acts in acts.into_iter().take(LEARNED) {
            explorer.learn(coverage, acts)?;
        }
        let found = self.proposals(coverage, MOST, &mut explorer)?;
        drop(progress);
        let mut held = Vec::new();
        let torn = self.verify(found, place, requested, runner, &mut explorer, &mut held)?;
        if !torn.is_empty() {
            explorer.try_apart(&torn);
            let found = self.proposals(coverage, MOST - held.len(), &mut explorer)?;
            self.verify(found, place, requested, runner, &mut explorer, &mut held)?;
        }
        let pages = self.pages(held, place)?;
        for (n, text) in (1..).zip(&pages.texts) {
            self.write(&numbered(place, n), text)?;
        }
        for proposal in &pages.held {
            let lines = proposal.ran[0].parts.iter().flatten();
            let heard: Vec<_> = lines.filter_map(Entry::heard).collect();
            coverage.hear(&heard);
        }
        self.count_branches(coverage, &pages.held, requested.branches.as_deref())?;
        report(coverage, place, &pages, before, &mut explorer);
        Ok(())
    }

    /// Searches for conversations, each with what it covers; at most so many.
    fn proposals(
        &self,
        coverage: &Coverage,
        most: usize,
        explorer: &mut Explorer,
    ) -> Result<Vec<(Proposal, Vec<Target>)>, Failure> {
        let mut found: Vec<(Proposal, Vec<Target>)> = Vec::new();
        while found.len() < most
            && let Some((talk, covers)) = explorer.next(coverage)?
        {
            let proposal = self.checked(talk)?;
            let still = proposal.iter().flat_map(|p| targets(coverage, &p.ran[0]));
            let still: Vec<Target> = still.collect();
            let (covers, lost): (Vec<Target>, Vec<Target>) = covers
                .into_iter()
                .partition(|target| still.contains(target));
            explorer.take_back(&lost, UNSTABLE);
            found.extend(proposal.filter(|_| !covers.is_empty()).map(|p| (p, covers)));
        }
        self.again(&mut found, explorer)?;
        Ok(found)
    }

    /// Counts the branches that conversations run. `marks`: where servers mark them.
    fn count_branches(
        &self,
        coverage: &mut Coverage,
        held: &[Proposal],
        marks: Option<&Path>,
    ) -> Result<(), Failure> {
        let Some(marks) = marks else { return Ok(()) };
        let script = Script {
            branches: Some(marks.to_owned()),
            secrecy: Secrecy::Never,
            ..self.script.clone()
        };
        for proposal in held {
            // It was run before, and took the same course each time.
            let _ = script.hold(std::slice::from_ref(&proposal.talk))?;
        }
        coverage.mark(&branches::read(marks)?);
        Ok(())
    }

    /// Runs a conversation twice in one server. Returns the part in which both runs agree.
    fn checked(&self, mut talk: Talk) -> Result<Option<Proposal>, Failure> {
        loop {
            let one = self.script.hold(std::slice::from_ref(&talk))?;
            let twice = self.script.hold(&[talk.clone(), talk.clone()])?;
            let (Ok(one), Ok(twice)) = (one, twice) else {
                return Ok(None);
            };
            let parts = twice.ran.iter().filter_map(|ran| parting(&one.ran[0], ran));
            let last = talk.acts.len() + 1;
            let parted = parts
                .min()
                .or_else(|| (one.files != twice.files).then_some(last));
            let Some(parted) = parted else {
                let mut ran = one.ran;
                ran.extend(twice.ran);
                let files = one.files;
                return Ok(Some(Proposal { talk, ran, files }));
            };
            // Keeps the part before the difference.
            let less = if parted == last && talk.tail.is_none() {
                2
            } else {
                1
            };
            let keep = parted.saturating_sub(less);
            if keep == 0 {
                return Ok(None);
            }
            talk.acts.truncate(keep);
            talk.tail = None;
        }
    }

    /// Runs all of them again at another time of day and from another address. Removes those that
    /// differ now.
    fn again(
        &self,
        found: &mut Vec<(Proposal, Vec<Target>)>,
        explorer: &mut Explorer,
    ) -> Result<(), Failure> {
        for (mut proposal, covers) in std::mem::take(found) {
            let talk = proposal.talk.clone();
            let why = match self.script.hold_at(LATER, &[talk.clone(), talk])? {
                Ok(held) => {
                    let same = held
                        .ran
                        .iter()
                        .all(|r| parting(&proposal.ran[0], r).is_none());
                    proposal.ran.extend(held.ran);
                    if same && proposal.files == held.files && proposal.fences("c1").is_some() {
                        found.push((proposal, covers));
                        continue;
                    }
                    if same { VARIES } else { UNSTABLE }
                }
                Err(_) => UNSTABLE,
            };
            explorer.give_up(&covers, why);
        }
        Ok(())
    }

    /// Adds to `held` the conversations that pass in every model. Returns what is covered by those that
    /// do not, although another one may cover it.
    fn verify(
        &self,
        found: Vec<(Proposal, Vec<Target>)>,
        place: &Path,
        requested: &Request,
        runner: &mut Runner,
        explorer: &mut Explorer,
        held: &mut Vec<Proposal>,
    ) -> Result<Vec<Target>, Failure> {
        let folder = runner.folder();
        let mut requested = requested.clone();
        // Each alone, so that one which fails takes no other with it.
        requested.branches = None;
        requested.pages.clear();
        for (n, (proposal, _)) in found.iter().enumerate() {
            let page = folder.join(format!("{n}.md"));
            let text = self.page(place, &[proposal])?;
            std::fs::write(&page, text).map_err(|e| Failure::io("cannot write a page", &e))?;
            requested.pages.push(page);
        }
        let mut failed: BTreeMap<PathBuf, String> = BTreeMap::new();
        if !requested.pages.is_empty() {
            runner.run(&requested, &mut |page| {
                if let Some(cell) = page.cells.iter().find(|c| c.outcome == "failed") {
                    let reason = cell.reason.as_deref().unwrap_or_default();
                    let line = reason.lines().next().unwrap_or_default();
                    failed.insert(page.page, format!("it differs in {}: {line}", cell.cell));
                }
            })?;
        }
        let mut torn = Vec::new();
        for (page, (proposal, covers)) in requested.pages.iter().zip(found) {
            match failed.get(page) {
                Some(why) => {
                    explorer.give_up(&covers, why);
                    torn.extend(Some(covers).filter(|covers| covers.len() > 1));
                }
                None => held.push(proposal),
            }
        }
        Ok(torn.concat())
    }

    /// The pages with these conversations.
    fn pages(&self, held: Vec<Proposal>, place: &Path) -> Result<Pages, Failure> {
        let mut texts = Vec::new();
        for some in grouped(&held) {
            texts.push(self.page(place, &some)?);
        }
        Ok(Pages { texts, held })
    }

    /// Writes some conversations as a page.
    fn page(&self, place: &Path, some: &[&Proposal]) -> Result<String, Failure> {
        let spec = relative(&self.args.file, &source::directory(place))?;
        let name = self.args.file.file_stem().unwrap_or_default().display();
        let mut text = format!(
            "# {name}: what no other conversation covers\n\n\
             `nest test --generate` wrote this page. Its replies and traces are what the server did: read \
             whether they are right.\n\nspec: {spec}\n"
        );
        if some.iter().any(|p| p.is_timed()) {
            text.push_str("\n<!-- skip: sockets, time passes, which is exact without them -->\n");
        }
        if self.machine.settings.framing == Framing::Message {
            text.push_str("\n<!-- cuts: none, a message is what one receive delivers -->\n");
        }
        let mut traces = String::new();
        for (n, proposal) in (1..).zip(some) {
            let Some((steps, trace)) = proposal.fences(&format!("c{n}")) else {
                continue;
            };
            text.push_str(&format!("\n{steps}"));
            traces.push_str(&format!("\n{trace}"));
            for (path, bytes) in &proposal.files {
                let body = nest_check::literal(bytes);
                text.push_str(&format!("\n```bytes-after {path}\n{body}\n```\n"));
            }
        }
        Ok(text + &traces)
    }

    fn write(&self, place: &Path, text: &str) -> Result<(), Failure> {
        let failed =
            |e: &std::io::Error| Failure::io(format!("cannot write {}", place.display()), e);
        let mut file = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(source::directory(place))
            .map_err(|e| failed(&e))?;
        file.write_all(text.as_bytes()).map_err(|e| failed(&e))?;
        let kept = if self.args.force {
            file.persist(place).map_err(|e| e.error)
        } else {
            file.persist_noclobber(place).map_err(|e| e.error)
        };
        kept.map(drop).map_err(|e| failed(&e))
    }
}

/// What was written, and what was not reached.
fn report(
    coverage: &Coverage,
    place: &Path,
    pages: &Pages,
    before: usize,
    explorer: &mut Explorer,
) {
    let left = coverage.missing();
    let mut text = String::new();
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    if pages.texts.is_empty() {
        text.push_str("no conversation was found for what is not covered\n");
    } else {
        let names: Vec<String> = (1..=pages.texts.len())
            .map(|n| numbered(place, n).display().to_string())
            .collect();
        text.push_str(&format!(
            "{STRONG}{}{STRONG:#}: {}, which {} {} more\n",
            names.join(", "),
            count(pages.held.len(), "conversation"),
            if pages.held.len() == 1 {
                "covers"
            } else {
                "cover"
            },
            count(before - left.len(), "transition"),
        ));
    }
    let whole = coverage.whole();
    text.push_str(&format!(
        "now covered: {} of {}, {}%\n",
        whole.met,
        whole.all,
        whole.percent()
    ));
    let branches = coverage.branches();
    if branches.all > 0 {
        text.push_str(&format!(
            "branches of actions: {} of {}, {}%\n",
            branches.met,
            branches.all,
            branches.percent()
        ));
    }
    if !left.is_empty() {
        text.push_str("not reached:\n");
    }
    for target in left.iter().take(SHOWN) {
        let (label, set) = (coverage.label(target.1).0, coverage.name(target.0));
        let why = explorer.reason(*target);
        text.push_str(&format!("  {label} in {set}: {FAINT}{why}{FAINT:#}\n"));
    }
    if left.len() > SHOWN {
        text.push_str(&format!(
            "  {FAINT}and {} more{FAINT:#}\n",
            left.len() - SHOWN
        ));
    }
    term::print(text);
}

/// The result.
struct Pages {
    texts: Vec<String>,
    held: Vec<Proposal>,
}

const UNSTABLE: &str = "the conversation differs when it is repeated";
const VARIES: &str = "its reply differs each time, so a client cannot know where it ends";

/// Groups conversations into pages: those in which time passes are separate; one that leaves files
/// is alone.
fn grouped(all: &[Proposal]) -> Vec<Vec<&Proposal>> {
    let mut groups: Vec<Vec<&Proposal>> = Vec::new();
    for timed in [false, true] {
        let mut now: Vec<&Proposal> = Vec::new();
        for proposal in all.iter().filter(|p| p.is_timed() == timed) {
            if !proposal.files.is_empty() {
                groups.push(vec![proposal]);
                continue;
            }
            let bytes: usize = now.iter().map(|p| p.sends()).sum::<usize>() + proposal.sends();
            if now.len() == ON_A_PAGE || (bytes + 100) * (now.len() + 1) > MOST_CUTS {
                groups.push(std::mem::take(&mut now));
            }
            now.push(proposal);
        }
        groups.extend((!now.is_empty()).then_some(now));
    }
    groups
}

/// The path of a file as a page in `folder` writes it.
fn relative(file: &Path, folder: &Path) -> Result<String, Failure> {
    let real = |path: &Path| {
        std::fs::canonicalize(path)
            .map_err(|e| Failure::io(format!("cannot find {}", path.display()), &e))
    };
    let (file, folder) = (real(file)?, real(folder)?);
    let same = file.components().zip(folder.components());
    let same = same.take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(same).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(file.components().skip(same)).collect();
    let text = path.to_string_lossy().into_owned();
    if text.contains(char::is_whitespace) {
        return Err(Failure::new(format!(
            "a page cannot name {text}, because it contains a blank"
        )));
    }
    Ok(text)
}
