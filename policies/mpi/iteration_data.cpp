// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What travels in an iteration over nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "policies/mpi/iteration.hpp"
#include "policies/mpi/session.hpp"
#include "policies/starpu/watch.hpp"

using namespace apportion;

namespace {

constexpr unsigned kMostArrays = 64;
constexpr std::int64_t kMostPieces =
    4096;  // of one array to one rank, which is to have a number for each pair of ranks

Halo halo_of(const apportion_mpi_distributed& array, Units all) {
    return {static_cast<Units>(std::min(array.halo, static_cast<std::uint64_t>(all))), array.periodic != 0};
}

/// Of consecutive units, as a message takes it: elements of that size from there on.
struct Piece {
    char* data = nullptr;
    Units elements = 0;
};

Piece piece_of(const apportion_mpi_distributed& array, Units first, Units units) {
    const std::int64_t begin = array.starts ? array.starts[first] : first;
    const std::int64_t end = array.starts ? array.starts[first + units] : first + units;
    return {static_cast<char*>(array.data) + begin * static_cast<std::int64_t>(array.bytes_per_unit), end - begin};
}

}  // namespace

namespace apportion {

nlohmann::json facts_of(const apportion_mpi_distributed* arrays, unsigned count, std::uint64_t units,
                        const std::vector<apportion_mpi_distributed>& known, const nlohmann::json& known_facts) {
    const auto starts_of = [&](const std::int64_t* starts) -> nlohmann::json {
        if (!starts) return "none";
        for (std::size_t k = 0; k < known.size(); ++k)
            if (known[k].starts == starts) return known_facts[k].at("starts");
        const std::string_view bytes(reinterpret_cast<const char*>(starts), (units + 1) * sizeof *starts);
        return fmt::format("with hash {:x}", std::hash<std::string_view>{}(bytes));
    };
    auto facts = nlohmann::json::array();
    for (unsigned k = 0; arrays && k < count; ++k) {
        const apportion_mpi_distributed& a = arrays[k];
        facts.push_back({{"data", a.data ? "given" : "NULL"},
                         {"bytes_per_unit", a.bytes_per_unit},
                         {"starts", starts_of(a.starts)},
                         {"halo", a.halo},
                         {"periodic", a.periodic != 0},
                         {"mode", a.mode}});
    }
    return facts;
}

std::string why_not_distributed(const apportion_mpi_distributed* arrays, unsigned count, std::uint64_t units,
                                const std::vector<apportion_mpi_distributed>& known) {
    if (count > 0 && !arrays) return "arrays is NULL but count is not 0";
    if (count > kMostArrays) return fmt::format("an iteration has at most {} arrays", kMostArrays);
    for (unsigned k = 0; k < count; ++k) {
        const apportion_mpi_distributed& a = arrays[k];
        const auto problem = [&](const char* what) { return fmt::format("arrays[{}]: {}", k, what); };
        if (!a.data && units > 0) return problem("data is NULL");
        if (a.mode != STARPU_R && a.mode != STARPU_RW)
            return problem("mode must be STARPU_R (never changed) or STARPU_RW (changed by iterations)");
        if (a.bytes_per_unit == 0) return problem("bytes_per_unit must not be 0");
        if (a.bytes_per_unit > kLargestMessage)
            return problem("a unit of more than 1 GiB is no message; use smaller units");
        if (a.starts && a.periodic) return problem("units of different lengths cannot be periodic");
        if (a.starts && std::ranges::count(known, a.starts, &apportion_mpi_distributed::starts) == 0 &&
            !std::is_sorted(a.starts, a.starts + units + 1))
            return problem("starts must not fall from one unit to the next");
        if (a.periodic && a.halo > units)
            return problem("a periodic halo of more units than there are would have some of them twice");
    }
    return {};
}

}  // namespace apportion

std::string apportion_mpi_iteration::exchange(const apportion_mpi_distributed* arrays, unsigned count) {
    if (const std::string problem =
            why_not_distributed(arrays, count, static_cast<std::uint64_t>(description_.units), given_);
        !problem.empty())
        return "apportion_mpi_iteration_exchange: " + problem;
    // Units may move, and then each of these arrays has to travel.
    if (facts_of(arrays, count) != facts_)
        return "apportion_mpi_iteration_exchange: the arrays must be all of those that were given to "
               "apportion_mpi_iteration_create, in the same order and in one call, and differ from these in data alone";
    const bool moves = next_ != owned_;
    if (moves) end_own_load();  // what its blocks have kept on devices is in main memory then
    distribute(Arrays(arrays, arrays + count), next_, false);
    for (unsigned k = 0; k < count; ++k) exchanged_.push_back(arrays[k].data);
    if (moves) {
        owned_ = next_;
        make_own_load();  // what is wrong with it is told by the next run
    }
    return {};
}

nlohmann::json apportion_mpi_iteration::facts_of(const apportion_mpi_distributed* arrays, unsigned count) const {
    return apportion::facts_of(arrays, count, static_cast<std::uint64_t>(description_.units), given_, facts_);
}

bool apportion_mpi_iteration::exchanged(const apportion_mpi_distributed& array) const {
    return std::ranges::count(exchanged_, array.data) > 0;
}

std::string apportion_mpi_iteration::sources_of(const apportion_mpi_distributed* arrays, unsigned count) const {
    std::string sources;
    for (unsigned k = 0; arrays && k < count; ++k)
        if (exchanged(arrays[k])) sources += fmt::format(", arrays[{}] exchanged since the last run", k);
    return sources;
}

std::string apportion_mpi_iteration::collect(const apportion_mpi_distributed* arrays, unsigned count) {
    if (const std::string problem =
            why_not_distributed(arrays, count, static_cast<std::uint64_t>(description_.units), given_);
        !problem.empty())
        return "apportion_mpi_iteration_collect: " + problem;
    Arrays changed;
    std::vector<std::vector<TravellingUnits>> units;
    for (unsigned k = 0; k < count; ++k) {
        if (arrays[k].mode != STARPU_RW) continue;
        const UnitRange all =
            with_halo({0, description_.units}, halo_of(arrays[k], description_.units), description_.units);
        changed.push_back(arrays[k]);
        const OwnedRanges& owners = exchanged(arrays[k]) ? owned_ : computed_;
        units.push_back(travelling_units(0, all, owners.of(0), owners));
    }
    travel(changed, units);
    gather_reports();
    return {};
}

void apportion_mpi_iteration::distribute(const Arrays& arrays, const OwnedRanges& next, bool at_first) {
    const Units all = description_.units;
    std::vector<Units> at_home(description_.processors.size(), 0);
    at_home[0] = all;
    const OwnedRanges owners = at_first ? OwnedRanges(at_home) : owned_;
    Arrays moved;
    std::vector<std::vector<TravellingUnits>> units;
    for (const apportion_mpi_distributed& array : arrays) {
        const bool constant = array.mode == STARPU_R;
        if (constant && next == owners) continue;
        const Halo halo = halo_of(array, all);
        moved.push_back(array);
        auto& its = units.emplace_back();
        for (int rank = 0; rank < world_.size(); ++rank) {
            // Halos of what does not change are as good as what a rank owns.
            const UnitRange held = constant && !at_first ? with_halo(owners.of(rank), halo, all) : owners.of(rank);
            for (const TravellingUnits& piece :
                 travelling_units(rank, with_halo(next.of(rank), halo, all), held, owners))
                its.push_back(piece);
        }
    }
    travel(moved, units);
}

/// Pieces have numbers that both ends know: their place among those of their array that go to the same rank.
void apportion_mpi_iteration::travel(const Arrays& arrays, const std::vector<std::vector<TravellingUnits>>& units) {
    struct Parcel {
        int other;
        bool out;
        std::int64_t number;
        apportion_mpi_array array;
        Units elements;
    };
    std::vector<Parcel> parcels;
    const int here = world_.rank();
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        std::int64_t number = 0;
        int to = -1;
        for (const TravellingUnits& its : units[k]) {
            if (std::exchange(to, its.to) != its.to) number = 0;
            const std::int64_t tag = (travels_ * kMostArrays + static_cast<std::int64_t>(k)) * kMostPieces + number++;
            if (its.from == here && its.to == here) {
                copy_here(arrays[k], its);
            } else if (its.from == here || its.to == here) {
                const bool out = its.from == here;
                const Piece piece = piece_of(arrays[k], out ? its.source : its.target, its.units);
                if (piece.elements == 0) continue;
                if (!out) bytes_here_ += piece.elements * static_cast<std::int64_t>(arrays[k].bytes_per_unit);
                parcels.push_back({out ? its.to : its.from,
                                   out,
                                   tag,
                                   {piece.data, arrays[k].bytes_per_unit, 1, 0, STARPU_R},
                                   piece.elements});
            }
        }
    }
    travels_ = 1 - travels_;
    // Receives first: what comes early has to be put aside.
    std::ranges::stable_partition(parcels, [](const Parcel& parcel) { return !parcel.out; });
    for (const Parcel& parcel : parcels) {
        const auto move = parcel.out ? &Post::send_data : &Post::receive_data;
        (post_.*move)(parcel.other, parcel.number, {parcel.array}, STARPU_R, {0, parcel.elements});
    }
    const double begin_us = starpu_timing_now() - stood_still_us();
    std::size_t left = parcels.size();
    while (left > 0) {
        const auto silent_at_us = [&] {
            return std::max(begin_us + stood_still_us(), post_.moved_at_us()) +
                   (recovery_ ? recovery_->silence_s() * 1e6 : std::numeric_limits<double>::infinity());
        };
        const auto event = post_.wait(silent_at_us());
        if (!event && starpu_timing_now() < silent_at_us()) continue;  // it stood still
        if (!event)
            abort_job(fmt::format(
                "nothing has come from other nodes, nor gone to them, for {:g} s, and {} messages are "
                "awaited: one of them hangs, and the job ends; a larger APPORTION_STALL_FACTOR waits longer",
                recovery_->silence_s(), left));
        if (event->kind == Event::Kind::sent || event->kind == Event::Kind::received) --left;
    }
}

/// What lies beyond an edge; in a simulation nothing does.
void apportion_mpi_iteration::copy_here([[maybe_unused]] const apportion_mpi_distributed& array,
                                        [[maybe_unused]] const TravellingUnits& units) const {
#ifndef STARPU_SIMGRID
    const Piece from = piece_of(array, units.source, units.units), to = piece_of(array, units.target, units.units);
    std::memcpy(to.data, from.data, static_cast<std::size_t>(from.elements) * array.bytes_per_unit);
#endif
}
