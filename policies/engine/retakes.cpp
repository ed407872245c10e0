// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/retakes.hpp"

#include <algorithm>
#include <utility>

namespace apportion {

Units Retakes::spare(Id late) const {
    Units units = 0;
    if (const auto it = late_.find(late); it != late_.end())
        for (const UnitRange& range : it->second.spare) units += range.units;
    return units;
}

UnitRange Retakes::take(Id late, Id piece, Units units) {
    Late& book = late_.at(late);
    UnitRange& from = book.spare.back();
    const UnitRange taken{from.first, std::min(units, from.units)};
    from = {from.first + taken.units, from.units - taken.units};
    if (from.units == 0) book.spare.pop_back();
    return book.pieces[piece] = taken;
}

bool Retakes::computed(Id late, Id piece) {
    Late& book = late_.at(late);
    return (book.missing -= book.pieces.at(piece).units) == 0;
}

void Retakes::give_back(Id late, Id piece) {
    Late& book = late_.at(late);
    book.spare.push_back(book.pieces.extract(piece).mapped());
}

Retakes::Closed Retakes::close(Id late) {
    const Late book = late_.extract(late).mapped();
    Closed closed{{}, book.spare};
    for (const auto& [piece, range] : book.pieces) closed.pieces.push_back(piece);
    return closed;
}

}  // namespace apportion
