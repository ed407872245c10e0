// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/distributed_units.hpp"

#include <random>

#include "test/catch.hpp"

using namespace apportion;

namespace {

/// An array on each rank, from -beyond to units + beyond, whose elements are the units' numbers, or nothing.
class Ranks {
  public:
    Ranks(int ranks, Units units, Units beyond)
        : units_(units),
          beyond_(beyond),
          has_(static_cast<std::size_t>(ranks), std::vector<Units>(static_cast<std::size_t>(units + 2 * beyond), -1)) {}

    Units& at(int rank, Units unit) {
        return has_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(unit + beyond_)];
    }
    void carry_out(const std::vector<TravellingUnits>& travelling) {
        for (const TravellingUnits& its : travelling)
            for (Units k = 0; k < its.units; ++k) {
                REQUIRE(at(its.from, its.source + k) == its.source + k);
                at(its.to, its.target + k) = its.source + k;
            }
    }
    bool complete(const OwnedRanges& owned, Halo halo) {
        for (int rank = 0; rank < owned.ranks(); ++rank) {
            const UnitRange range = with_halo(owned.of(rank), halo, units_);
            for (Units unit = range.first; unit < range.first + range.units; ++unit)
                if (at(rank, unit) != (unit % units_ + units_) % units_) return false;
        }
        return true;
    }
    /// What is not owned is lost.
    void keep_owned(const OwnedRanges& owned) {
        for (int rank = 0; rank < owned.ranks(); ++rank)
            for (Units unit = -beyond_; unit < units_ + beyond_; ++unit) {
                const UnitRange own = owned.of(rank);
                if (unit < own.first || unit >= own.first + own.units) at(rank, unit) = -1;
            }
    }

  private:
    Units units_, beyond_;
    std::vector<std::vector<Units>> has_;
};

void bring_all(Ranks& ranks, const OwnedRanges& owners, const OwnedRanges& next, Halo halo) {
    std::vector<TravellingUnits> all;
    for (int rank = 0; rank < next.ranks(); ++rank) {
        const auto its = travelling_units(rank, with_halo(next.of(rank), halo, next.units()), owners.of(rank), owners);
        all.insert(all.end(), its.begin(), its.end());
    }
    ranks.carry_out(all);
}

Units travelling_between_ranks(const OwnedRanges& owned, Halo halo) {
    Units units = 0;
    for (int rank = 0; rank < owned.ranks(); ++rank)
        for (const TravellingUnits& its :
             travelling_units(rank, with_halo(owned.of(rank), halo, owned.units()), owned.of(rank), owned))
            units += its.from == its.to ? 0 : its.units;
    return units;
}

std::vector<Units> random_shares(std::mt19937& random, int ranks, Units units) {
    std::vector<Units> cuts{0, units};
    for (int r = 1; r < ranks; ++r) cuts.push_back(std::uniform_int_distribution<Units>(0, units)(random));
    std::ranges::sort(cuts);
    std::vector<Units> shares;
    for (std::size_t k = 1; k < cuts.size(); ++k) shares.push_back(cuts[k] - cuts[k - 1]);
    return shares;
}

}  // namespace

TEST_CASE("each rank gets its units and their halo, from whatever each owned before") {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        const int count = std::uniform_int_distribution<>(1, 6)(random);
        const Units units = std::uniform_int_distribution<Units>(1, 40)(random);
        const Halo halo{std::uniform_int_distribution<Units>(0, units)(random), random() % 2 == 0};
        std::vector<Units> at_home(static_cast<std::size_t>(count), 0);
        at_home[0] = units;
        Ranks ranks(count, units, units);
        OwnedRanges owned(at_home);
        for (Units unit = 0; unit < units; ++unit) ranks.at(0, unit) = unit;
        for (int moves = 0; moves < 4; ++moves) {
            const OwnedRanges next(random_shares(random, count, units));
            bring_all(ranks, owned, next, halo);
            REQUIRE(ranks.complete(next, halo));
            owned = next;
            ranks.keep_owned(owned);  // an iteration computes what a rank owns
        }
        bring_all(ranks, owned, OwnedRanges(at_home), halo);
        REQUIRE(ranks.complete(OwnedRanges(at_home), halo));
    }
}

TEST_CASE("a halo travels once for each neighbour, and nothing does where one rank has all") {
    const OwnedRanges four(std::vector<Units>{10, 20, 5, 15});
    CHECK(travelling_between_ranks(four, {2, false}) == 2 * 2 * 3);
    CHECK(travelling_between_ranks(four, {2, true}) == 2 * 2 * 4);
    CHECK(travelling_between_ranks(OwnedRanges(std::vector<Units>{50}), {3, true}) == 0);
    CHECK(travelling_between_ranks(four, {50, false}) == 3 * 50);  // all read all
}

TEST_CASE("a rank without units needs none and owns none") {
    const OwnedRanges owned(std::vector<Units>{0, 3, 0, 2});
    CHECK(with_halo(owned.of(0), {1, true}, 5).units == 0);
    CHECK(owned.owner(0) == 1);
    CHECK(owned.owner(3) == 3);
    CHECK(owned.shares() == std::vector<Units>{0, 3, 0, 2});
}

TEST_CASE("what a move costs counts the nodes in between") {
    const OwnedRanges before(std::vector<Units>{10, 10, 10}), after(std::vector<Units>{14, 10, 6});
    CHECK(most_moved(before, after) == 4);
    CHECK(most_moved(before, before) == 0);
}
