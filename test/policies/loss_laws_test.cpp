// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every registered policy must do when processors are lost at any moment, all of them as well: no exception leaves
// it, and what is left goes to those that are left. And that it does its work at every size that a load can have. The
// runtime here knows nothing but what policy.hpp says about asking: it does not help a policy that gives nobody
// anything.
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "policies/policy.hpp"
#include "test/catch.hpp"
#include "test/sanitized.hpp"

using namespace apportion;

namespace {

/// What becomes of the blocks that a processor has in flight when it is lost.
enum class Blocks { given_back, given_back_last, finished };

struct Loss {
    int processor = 0;
    int after = 0;  ///< finished blocks
    Blocks blocks = Blocks::given_back;
};

class Runtime final : public Progress {
  public:
    Runtime(const LoadDescription& load, Policy& policy, unsigned seed)
        : load_(load), policy_(policy), random_(seed), remaining_(load.units), lanes_(load.processors.size()) {
        policy_.begin(load_);
    }

    /// Returns the units that were computed. `losses` in the order of Loss::after.
    Units run(std::deque<Loss> losses) {
        for (int events = 0;; ++events) {
            if (events >= kMostEvents) FAIL(events << " events");  // REQUIRE would take longer than all the rest
            while (!losses.empty() && losses.front().after <= events) {
                lose(losses.front());
                losses.pop_front();
            }
            ask_all();
            if (computed_ == load_.units) return computed_;
            if (finish_next()) continue;
            if (!later_.empty()) {
                remaining_ += later_.front();
                later_.pop_front();
            } else if (!rescue()) {
                break;
            }
        }
        for (std::size_t p = 0; p < lanes_.size() && remaining_ > 0; ++p)
            policy_.next_block(static_cast<int>(p), now_s_, *this);
        return computed_;
    }

    int stalls() const { return stalls_; }  ///< times nobody got anything although nothing was in flight

    Units remaining() const override { return remaining_; }
    std::span<const BlockInFlight> in_flight(int processor) const override { return lane(processor).blocks; }
    Units room(int processor) const override {
        const Units memory = load_.processors[static_cast<std::size_t>(processor)].memory_units;
        Units used = 0;
        for (const BlockInFlight& block : lane(processor).blocks) used += block.units;
        if (memory == kNoLimit) return kNoLimit;
        if (used == 0) return std::max(memory, load_.granularity);
        return memory > used ? (memory - used) / load_.granularity * load_.granularity : 0;
    }

  private:
    static constexpr int kMostEvents = 100'000;

    struct Lane {
        std::vector<BlockInFlight> blocks;
        std::deque<double> ends_s;
        double last_end_s = 0;
        bool lost = false;
        bool dying = false;  ///< lost, but its blocks finish
    };
    const Lane& lane(int processor) const { return lanes_[static_cast<std::size_t>(processor)]; }
    Lane& lane(int processor) { return lanes_[static_cast<std::size_t>(processor)]; }

    void ask_all() {
        for (std::size_t depth : {1, 2})
            for (int p = 0; p < static_cast<int>(lanes_.size()); ++p)
                if (depth == 1 || load_.processors[static_cast<std::size_t>(p)].own_memory) ask(p, depth);
    }

    void ask(int p, std::size_t depth) {
        while (remaining_ > 0 && !lane(p).lost && lane(p).blocks.size() < depth && room(p) >= load_.granularity) {
            Units units = policy_.next_block(p, now_s_, *this);
            if (units <= 0) return;
            hand_out(p, std::min(units, room(p)));
        }
    }

    /// As the engine does.
    bool rescue() {
        for (int p = 0; p < static_cast<int>(lanes_.size()); ++p) {
            if (lane(p).lost) continue;
            ++stalls_;
            hand_out(p, std::min(load_.initial_block, room(p)));
            return true;
        }
        return false;
    }

    void hand_out(int p, Units units) {
        if (units < remaining_) units = std::max(units / load_.granularity, Units{1}) * load_.granularity;
        units = std::min(units, remaining_);
        const double speed = 1000.0 * (1 + p % 3);
        const double noise = std::exp(std::normal_distribution<>(0, 0.3)(random_));
        const double start_s = std::max(now_s_, lane(p).ends_s.empty() ? 0 : lane(p).ends_s.back());
        lane(p).blocks.push_back({next_id_++, load_.units - remaining_, units, now_s_});
        lane(p).ends_s.push_back(start_s + (1e-3 + static_cast<double>(units) / speed) * noise);
        remaining_ -= units;
    }

    bool finish_next() {
        int next = -1;
        for (int p = 0; p < static_cast<int>(lanes_.size()); ++p)
            if (!lane(p).ends_s.empty() && (next < 0 || lane(p).ends_s.front() < lane(next).ends_s.front())) next = p;
        if (next < 0) return false;
        Lane& own = lane(next);
        now_s_ = own.ends_s.front();
        const BlockInFlight block = own.blocks.front();
        own.ends_s.pop_front();
        own.blocks.erase(own.blocks.begin());
        const double start_s = std::max(block.given_s, own.last_end_s);
        policy_.block_finished({block.id, next, block.first, block.units, block.given_s, own.last_end_s, start_s,
                                now_s_, now_s_ - start_s});
        own.last_end_s = now_s_;
        computed_ += block.units;
        return true;
    }

    void lose(const Loss& loss) {
        Lane& own = lane(loss.processor);
        if (own.lost) return;
        own.lost = true;
        policy_.processor_lost(loss.processor);
        if (loss.blocks == Blocks::finished) return;
        for (const BlockInFlight& block : own.blocks) {
            if (loss.blocks == Blocks::given_back)
                remaining_ += block.units;
            else
                later_.push_back(block.units);
        }
        own.blocks.clear();
        own.ends_s.clear();
    }

    LoadDescription load_;
    Policy& policy_;
    std::mt19937 random_;
    Units remaining_ = 0, computed_ = 0;
    std::vector<Lane> lanes_;
    std::deque<Units> later_;  ///< blocks of lost processors that come back when nothing else happens
    std::int64_t next_id_ = 0;
    double now_s_ = 0;
    int stalls_ = 0;
};

/// Cores, and two devices with little memory. Times are recorded at few sizes, up to a tenth of the load.
LoadDescription load_of(Units units, Units granularity, bool alike, bool recorded) {
    LoadDescription load;
    load.units = units;
    load.granularity = granularity;
    load.initial_block = default_initial_block(units, granularity, 5);
    std::vector<ProcessorProfile> profiles;
    for (int p = 0; p < 5; ++p) {
        Processor processor{"processor " + std::to_string(p), alike ? 0 : p, false, kNoLimit};
        if (p >= 3 && !alike) {
            processor.own_memory = true;
            processor.memory_units = 500;
        }
        load.processors.push_back(processor);
        load.links.push_back(processor.own_memory ? LoadDescription::Link{1e-4, 1e-6} : LoadDescription::Link{});
        if (!recorded) continue;
        ProcessorProfile& profile = profiles.emplace_back();
        profile.name = processor.name;
        for (const Units size : {granularity, 4 * granularity, std::max(units / 10, 8 * granularity)})
            profile.points.push_back({size, 1e-3 + static_cast<double>(size) / (1000.0 * (1 + p % 3)), 0, 0});
    }
    load.recorded.processors = std::move(profiles);
    return load;
}

/// Recorded at a thousandth of the load, a thirtieth, and all of it.
LoadDescription huge_load(Units units, Units granularity, int processors, bool alike, bool recorded) {
    LoadDescription load;
    load.units = units;
    load.granularity = granularity;
    load.initial_block = default_initial_block(units, granularity, processors);
    std::vector<ProcessorProfile> profiles;
    for (int p = 0; p < processors; ++p) {
        const int kind = alike ? 0 : p % 3;
        load.processors.push_back({"processor " + std::to_string(p), kind, kind == 2, kNoLimit});
        if (!recorded) continue;
        ProcessorProfile& profile = profiles.emplace_back();
        profile.name = load.processors.back().name;
        const Units most = std::max(units, granularity);
        for (const Units size : {most / 1000, most / 30, most})
            if (size > 0) profile.points.push_back({size, static_cast<double>(size) / (1000.0 * (1 + kind)), 0, 0});
    }
    load.recorded.processors = std::move(profiles);
    return load;
}

/// Nothing where the policy refuses the load, as some may that have no recorded times.
std::unique_ptr<Runtime> begin(const LoadDescription& load, Policy& policy, unsigned seed, bool recorded) {
    try {
        return std::make_unique<Runtime>(load, policy, seed);
    } catch (const PolicyError&) {
        REQUIRE_FALSE(recorded);
        return nullptr;
    }
}

std::deque<Loss> random_losses(unsigned seed, std::size_t lost) {
    std::mt19937 random(seed);
    std::vector<int> order{0, 1, 2, 3, 4};
    std::shuffle(order.begin(), order.end(), random);
    std::deque<Loss> losses;
    const int latest = seed % 3 == 0 ? 3 : 60;
    for (std::size_t k = 0; k < lost; ++k)
        losses.push_back({order[k], std::uniform_int_distribution<>(0, latest)(random),
                          static_cast<Blocks>(std::uniform_int_distribution<>(0, 2)(random))});
    std::sort(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) { return a.after < b.after; });
    return losses;
}

}  // namespace

TEST_CASE("whatever processors are lost and whenever, every policy hands what is left to those that are left") {
    for (const PolicyEntry& entry : registered_policies())
        for (const bool recorded : {false, true})
            for (const auto& [units, granularity] : {std::pair<Units, Units>{1, 1}, {99, 1}, {20'003, 8}})
                for (std::size_t lost = 1; lost <= 5; ++lost)
                    for (unsigned seed = 1; seed <= test::cases_of(6); ++seed) {
                        INFO(entry.name << (recorded ? ", recorded, " : ", ") << units << " units, " << lost
                                        << " lost, seed " << seed);
                        const auto policy = entry.make();
                        const LoadDescription load = load_of(units, granularity, entry.identical_processors, recorded);
                        const auto runtime = begin(load, *policy, seed, recorded);
                        if (!runtime) continue;
                        const Units computed = runtime->run(random_losses(seed, lost));
                        if (lost < 5) REQUIRE(computed == units);
                        REQUIRE(runtime->stalls() == 0);
                        LoadDescription again = load;
                        for (again.run = 2; again.run <= 3; ++again.run)
                            REQUIRE(Runtime(again, *policy, seed).run({}) == units);
                        Runtime fourth(again, *policy, seed);
                        const Units computed_again = fourth.run(random_losses(seed + 1, lost));
                        if (lost < 5) REQUIRE(computed_again == units);
                        REQUIRE(fourth.stalls() == 0);
                    }
}

TEST_CASE(
    "every policy may be told that processors of a load of no units are lost, and runs a load with units after it") {
    for (const PolicyEntry& entry : registered_policies())
        for (const bool recorded : {false, true})
            for (const bool first : {true, false}) {
                INFO(entry.name << (recorded ? ", recorded" : "") << (first ? ", first load" : ""));
                const auto policy = entry.make();
                const LoadDescription load = load_of(99, 1, entry.identical_processors, recorded);
                if (!begin(load, *policy, 1, recorded)) continue;
                const auto fresh = entry.make();
                Policy& told = first ? *fresh : *policy;
                LoadDescription nothing = load;
                nothing.units = 0;
                told.begin(nothing);
                for (int p = 0; p < static_cast<int>(load.processors.size()); ++p) told.processor_lost(p);
                REQUIRE(Runtime(load, told, 1).run({}) == 99);
            }
}

TEST_CASE("every policy computes loads and granules of up to 2^61 - 1 units, on 400 processors as well") {
    constexpr Units kLargest = (Units{1} << 61) - 1;
    struct Case {
        Units units, granularity;
        int processors;
    };
    // These look at all processors for each block: for them, 8 are many. The variance that af has seen in large chunks
    // makes its last ones single granules, the more the more processors there are.
    const std::map<std::string, int> most_processors{{"plb-hec", 8}, {"auto", 8}, {"af", 2}};
    for (const PolicyEntry& entry : registered_policies())
        for (const bool recorded : {false, true})
            for (const auto& [units, granularity, processors] :
                 {Case{kLargest, 1, 2}, Case{kLargest, 1, 400}, Case{kLargest, 1'000'003, 40},
                  Case{kLargest, kLargest / 100, 2}, Case{kLargest, kLargest / 100, 100}, Case{kLargest, kLargest, 40},
                  Case{1, kLargest, 2}, Case{10'000'000'000'037, 1, 40}}) {
                const auto most = most_processors.find(entry.name);
                const int many = std::min(processors, test::kSanitized ? 40 : 400);
                const int count = most == most_processors.end() ? many : std::min(many, most->second);
                INFO(entry.name << (recorded ? ", recorded, " : ", ") << units << " units, granularity " << granularity
                                << ", " << count << " processors");
                const LoadDescription load = huge_load(units, granularity, count, entry.identical_processors, recorded);
                const auto policy = entry.make();
                for (const std::deque<Loss>& losses : {std::deque<Loss>{}, {{0, 1, Blocks::given_back}}}) {
                    const auto runtime = begin(load, *policy, 1, recorded);
                    if (runtime) REQUIRE(runtime->run(losses) == units);
                }
            }
}
