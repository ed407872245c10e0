// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Texts of all ranks, for the library and for the command line.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace apportion {

/// Every rank's text, on all ranks of `comm`. Returns MPI's status; where that is an error, `texts` is not changed.
inline int gather_texts(MPI_Comm comm, const std::string& text, std::vector<std::string>& texts) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    const auto ranks = static_cast<std::size_t>(size);
    const long long mine = static_cast<long long>(text.size());
    std::vector<long long> lengths(ranks);
    int status = MPI_Allgather(&mine, 1, MPI_LONG_LONG, lengths.data(), 1, MPI_LONG_LONG, comm);
    if (status != MPI_SUCCESS) return status;
    const long long longest = *std::max_element(lengths.begin(), lengths.end());
    const long long at_once = std::numeric_limits<int>::max() / size;  // counts are ints
    std::vector<std::string> gathered(ranks);
    for (long long done = 0; done < longest; done += at_once) {
        std::vector<int> counts(ranks), begins(ranks);
        const auto part = [&](long long length) { return static_cast<int>(std::clamp(length - done, 0LL, at_once)); };
        std::transform(lengths.begin(), lengths.end(), counts.begin(), part);
        std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
        std::string all(static_cast<std::size_t>(begins.back() + counts.back()), '\0');
        status = MPI_Allgatherv(text.data() + std::min(done, mine), part(mine), MPI_CHAR, all.data(), counts.data(),
                                begins.data(), MPI_CHAR, comm);
        if (status != MPI_SUCCESS) return status;
        for (std::size_t r = 0; r < ranks; ++r)
            gathered[r].append(all, static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(counts[r]));
    }
    texts = std::move(gathered);
    return MPI_SUCCESS;
}

}  // namespace apportion
