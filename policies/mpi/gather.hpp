// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Texts of all ranks, for the library and for the command line.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace apportion {

/// Every rank's text, on all ranks of `comm`. Returns MPI's status; where that is an error, `texts` is not changed.
inline int gather_texts(MPI_Comm comm, const std::string& text, std::vector<std::string>& texts) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    const int mine = static_cast<int>(text.size());
    std::vector<int> lengths(static_cast<std::size_t>(size)), begins(lengths.size());
    int status = MPI_Allgather(&mine, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm);
    if (status != MPI_SUCCESS) return status;
    std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
    std::string all(static_cast<std::size_t>(begins.back() + lengths.back()), '\0');
    status = MPI_Allgatherv(text.data(), mine, MPI_CHAR, all.data(), lengths.data(), begins.data(), MPI_CHAR, comm);
    if (status != MPI_SUCCESS) return status;
    texts.clear();
    for (std::size_t r = 0; r < lengths.size(); ++r)
        texts.push_back(all.substr(static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(lengths[r])));
    return MPI_SUCCESS;
}

}  // namespace apportion
