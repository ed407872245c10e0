// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a policy is: a state machine that answers one question, "how many units next for this processor?", from what it
// has been told about finished blocks. It knows no StarPU, no threads and no clock: its caller (the load engine,
// or the fake platform of the tests) tells it the time. To add a policy, derive from Policy in one file NAME.cpp,
// define `extern const PolicyEntry NAME_policy` there, and add NAME to the list in policies/meson.build.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "models/profile.hpp"
#include "models/unit_costs.hpp"

namespace apportion {

using Units = std::int64_t;
inline constexpr Units kNoLimit = std::numeric_limits<Units>::max();

/// A StarPU worker, or a group of cores, as a policy sees it.
struct Processor {
    std::string name;               ///< for reports, e.g. "CUDA 0 (Tesla K20c)"
    int kind = 0;                   ///< processors of equal kind are thought alike until their times differ
    bool own_memory = false;        ///< its blocks' data cross a link, so a second block in flight hides the transfer
    Units memory_units = kNoLimit;  ///< units whose data fit its memory together

    bool operator==(const Processor&) const = default;
};

/// Whether what is known of one holds for the other, whatever memory its data get.
inline bool same_processor(const Processor& a, const Processor& b) { return a.name == b.name && a.kind == b.kind; }
inline bool same_processors(std::span<const Processor> these, std::span<const Processor> those) {
    return std::ranges::equal(these, those, same_processor);
}

/// What was recorded of a load's kernel before, for policies that plan from a profile.
struct RecordedTimes {
    Profiles processors;  ///< kernel times, one per processor of the load; empty: none is usable
    std::string source;   ///< the file they come from
    std::string note;     ///< what is to be known about them, or empty
    std::string problem;  ///< why none is usable and what to do, one sentence; or empty
    bool none = false;    ///< there is no file, nor was one named
    bool learnt = false;  ///< from runs, at whatever sizes their blocks had
};

/// How a load was distributed in the last runs of a process, which had their data in place.
struct LearntDistribution {
    std::vector<std::vector<Units>> blocks;  ///< of each processor; empty: nothing is known, or data do not stay
    int runs = 0;                            ///< in a row with these blocks
    double run_s = 0;                        ///< duration of these, on average
};

/// A load as a policy sees it. Valid: units >= 0, granularity >= 1, initial_block >= 1, at least one processor.
struct LoadDescription {
    Units units = 0;
    /// An open load: its units arrive while it runs (Policy::units_added), none at first. `units` is the most that may.
    bool open = false;
    Units granularity = 1;              ///< every block is a multiple of it, except the one that takes the last units
    Units initial_block = 1;            ///< size of a first block, for policies that know nothing yet
    bool initial_block_chosen = false;  ///< by the user
    std::vector<Processor> processors;
    /// Of a link in one direction: fixed part [s] and slope [s per unit].
    struct Way {
        double latency_s = 0;
        double seconds_per_unit = 0;

        double seconds(Units units) const { return latency_s + seconds_per_unit * static_cast<double>(units); }
        bool operator==(const Way&) const = default;
    };
    struct Link {
        Way in, out;
        Way both;  ///< a block's data come and another one's results go at once; nothing: as the slower of the two

        Link() = default;
        Link(Way in, Way out) : in(in), out(out) {}
        Link(Way in, Way out, Way both) : in(in), out(out), both(both) {}
        /// Half of it each way.
        Link(double latency_s, double seconds_per_unit)
            : in{latency_s / 2, seconds_per_unit / 2}, out{latency_s / 2, seconds_per_unit / 2} {}

        double latency_s() const { return in.latency_s + out.latency_s; }
        double seconds_per_unit() const { return in.seconds_per_unit + out.seconds_per_unit; }
        /// Of each of many blocks whose data come while results of others go.
        double streaming_s(Units units) const {
            return std::max({in.seconds(units), out.seconds(units), both.seconds(units)});
        }
        /// By this, data that come hold up those that go, and the other way round.
        double held_up_s(Units units) const {
            return streaming_s(units) - std::max(in.seconds(units), out.seconds(units));
        }
        bool operator==(const Link&) const = default;
    };
    /// To each processor, as the runtime knows it before any block ran; empty when unknown.
    std::vector<Link> links;
    RecordedTimes recorded;
    /// What earlier processes learnt, one per processor, without points where nothing is known; empty: nothing is known
    /// of any. For policies that learn.
    std::vector<ProcessorProfile> learnt;
    /// In the process before.
    LearntDistribution learnt_distribution;
    LearntUnitCosts learnt_costs;
    /// Of the bytes that a unit's data take, the part that lies where the block of the run before this one ran, so that
    /// it costs time to move units; 0: no data stay.
    double staying = 0;
    int run = 1;            ///< which submission of the load this is
    int runs_expected = 0;  ///< how many there will be, this one and earlier ones included; 0: not known

    /// Seconds to bring what stays of so many units to a processor that does not have it.
    double bring_staying_s(std::size_t processor, double its_units) const {
        if (staying <= 0 || processor >= links.size()) return 0;
        return links[processor].latency_s() + staying * links[processor].seconds_per_unit() * its_units;
    }
};

/// Thrown by Policy::begin when the policy cannot run this load: one sentence, which ends the submission.
class PolicyError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A block that was handed out and is not finished.
struct BlockInFlight {
    std::int64_t id = 0;
    Units first = 0;
    Units units = 0;
    double given_s = 0;
    double begun_s = -1;  ///< its task runs since then; negative: not yet
};

/// Units first, first + 1, ..., first + units - 1 of a load.
struct UnitRange {
    Units first = 0;
    Units units = 0;
};

/// Units that a processor is to compute.
struct OwnedUnits {
    int processor = 0;
    Units first = 0;
    Units units = 0;
};

/// What one finished block cost; times in seconds since the load's begin.
struct FinishedBlock {
    std::int64_t id = 0;
    int processor = 0;
    Units first = 0;
    Units units = 0;
    double given_s = 0;         ///< handed out: from here on its data may travel
    double previous_end_s = 0;  ///< end of the block before it on the same processor (0 for the first)
    double start_s = 0;         ///< its kernel starts: its data have arrived
    double end_s = 0;           ///< its kernel ends
    double busy_s = 0;          ///< kernel time; end_s - start_s unless the block consists of several tasks
    /// What the processor, a node, would need for half of the units by what it has learnt meanwhile; all that it told
    /// of fewer units before is no longer true. 0: it tells nothing.
    double half_busy_s = 0;
    bool data_there = false;  ///< some, from an earlier run: its start time covers only the transfer of the rest

    /// Seconds that the processor spent on it, with what of its transfer was not hidden.
    double occupied_s() const { return end_s - std::max(given_s, previous_end_s); }
};

/// The results of a finished block are in main memory.
struct ReturnedBlock {
    int processor = 0;
    Units units = 0;
    double seconds = 0;      ///< since its kernel ended,
    double travelled_s = 0;  ///< or since those of the block before it were home, if that was later
    double home_s = 0;       ///< since the load's begin
};

/// How far a load is: what a policy may look at when it is asked.
class Progress {
  public:
    virtual ~Progress() = default;
    virtual Units remaining() const = 0;  ///< units not handed out
    virtual std::span<const BlockInFlight> in_flight(
        int processor) const = 0;                 ///< the one that runs, then oldest first
    virtual Units room(int processor) const = 0;  ///< units that fit beside those that are there; 0: none now
    /// Where the processor's next block would be: at the beginning of such a range, or at its end.
    struct NextUnits {
        UnitRange range;  ///< without units: nobody knows
        bool from_end = false;
    };
    virtual NextUnits next_units(int processor) const {
        (void)processor;
        return {};
    }
    /// Whether what it computes has run twice as long as its last blocks admit (engine/recovery.hpp): nobody knows when
    /// that will end. Never, where every block is waited for.
    virtual bool is_late(int processor, double now_s) const {
        (void)processor, (void)now_s;
        return false;
    }
};

/// A distribution a policy decided on, for the report.
struct PlannedDistribution {
    double at_s = 0;
    std::string reason;                ///< "first fit", "rebalance", ...
    std::vector<double> shares_units;  ///< per processor, of what was left then
    double predicted_end_s = 0;
};

/// What a policy can tell about a load after it ran. Vectors are per processor or empty.
struct PolicyReport {
    struct Model {
        std::string formula;  ///< F(x), seconds for a block of x units
        double r2 = 0;
        int samples = 0;
        std::string transfer;  ///< G(x), seconds, in plus out
    };
    std::vector<Model> models;
    std::vector<PlannedDistribution> distributions;
    int solves = 0;            ///< distributions planned; of plb-hec: equal-finish problems solved by IPOPT
    int solver_fallbacks = 0;  ///< of these, how often bisection's answer was taken instead
    int bisections = 0;  ///< further distributions that the bisection decided, because IPOPT was not worth its time
    double solver_difference =
        0;  ///< largest part of the units that IPOPT's and the bisection's answers give differently
    double solver_seconds = 0;
    std::string profile;  ///< file of the recorded times that the plan rests on
    int rebalances = 0;
    int discarded_samples = 0;   ///< judged to be spikes
    double probing_seconds = 0;  ///< until the last processor had its first usable model
    std::string note;
    /// What units cost, as the next run takes it; nothing: this policy does not look.
    std::optional<LearntUnitCosts> unit_costs;

    std::string chosen;  ///< which one a policy took that chooses among others; or empty
};

/// Until a processor that got nothing is asked again.
inline double asked_again_after_s(double now_s) { return std::max(1.0, now_s / 100); }

class Policy {
  public:
    virtual ~Policy() = default;

    /// A load begins, or begins again: models are kept when the processors are the same as before. Throws PolicyError.
    virtual void begin(const LoadDescription& load) = 0;

    /// Units of the next block for `processor` at time `now_s`: a multiple of the granularity, cut to what remains and
    /// to the room in its memory by the caller. 0: nothing now; the processor is asked again when one of its blocks
    /// finishes, or gives its memory free, and, while it has none in flight, when any block of the load finishes, or,
    /// where blocks are not waited for whatever they take, after asked_again_after_s(). Called only while units remain.
    virtual Units next_block(int processor, double now_s, const Progress& progress) = 0;

    /// Whether what it answered last is a trial: its time tells of a processor of which little is known, and may be far
    /// too long. It is then of the last units, which others may take as well while it runs.
    virtual bool answered_trial() const { return false; }

    /// More units of an open load are there to be handed out: Progress::remaining() has grown by so many. Without
    /// effect on a policy that looks at what remains when it is asked.
    virtual void units_added(Units units) { (void)units; }

    virtual void block_finished(const FinishedBlock& block) { (void)block; }

    virtual void block_returned(const ReturnedBlock& block) { (void)block; }

    /// After begin: whose units are whose in this run, by ascending units, all of the load; or nothing, for those of
    /// the run before where data stay.
    virtual std::vector<OwnedUnits> owned() const { return {}; }

    /// After begin: whether the processor's units, where nobody's, are the last ones that are left, not the first ones.
    virtual bool begins_at_end(int processor) const {
        (void)processor;
        return false;
    }

    /// A block of an earlier run that others had computed in the meantime has ended after all: `busy_s` of kernel time.
    /// Called between runs, or while one is on.
    virtual void late_block_ended(int processor, Units units, double busy_s) {
        (void)processor, (void)units, (void)busy_s;
    }

    /// The processor gets no more blocks in this run: it failed, or others computed a block of it that took too long.
    /// Units of its blocks that were not computed remain to be handed out. One that is lost because it still computes
    /// such a block of an earlier run comes back when that block ends, and is asked again; a policy that does not know
    /// of that does without it until the next run.
    virtual void processor_lost(int processor) { (void)processor; }
    virtual void processor_is_back(int processor) { (void)processor; }

    virtual PolicyReport report() const { return {}; }
};

/// What recorded times of a load's kernel (LoadDescription::recorded) are to a policy.
enum class ProfileUse {
    none,
    optional,  ///< it is better with them
    required,  ///< it refuses a load without
};

/// What the library and its tools know of a policy. The table of all is generated from the list in
/// policies/meson.build.
struct PolicyEntry {
    const char* name;         ///< value of STARPU_SCHED, e.g. "plb-hec"
    const char* description;  ///< one line for STARPU_SCHED=help
    std::unique_ptr<Policy> (*make)();
    ProfileUse profile = ProfileUse::none;
    bool identical_processors = false;  ///< refuses loads on unlike processors
    bool fixed_blocks = false;          ///< all blocks have the initial size, which tools then vary

    bool reads_profile() const { return profile != ProfileUse::none; }
};

/// PolicyEntry::make of a policy that needs no arguments.
template <class P>
std::unique_ptr<Policy> make_policy() {
    return std::make_unique<P>();
}

/// All registered policies, in the order of the list.
std::span<const PolicyEntry> registered_policies();

/// StarPU's schedulers that policies are compared with.
std::span<const char* const> compared_schedulers();

/// The entry of that name, or nullptr.
const PolicyEntry* find_policy(std::string_view name);

/// Size of a first block where none is given: a 64th of an equal share, in whole granules.
Units default_initial_block(Units units, Units granularity, int processors);

/// The quotient, rounded up: granules that hold so many units. `dividend` >= 0, `divisor` >= 1.
constexpr Units quotient_up(Units dividend, Units divisor) { return dividend / divisor + (dividend % divisor > 0); }
constexpr Units up_to_multiple(Units units, Units of) { return quotient_up(units, of) * of; }

/// `units` rounded to the nearest multiple of the granularity, at least one granule.
Units round_to_granularity(double units, Units granularity);

}  // namespace apportion
