// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace apportion {

/// One object or list with an end of line; indented by so many blanks, -1: in one line. JSON is UTF-8: bytes of a name
/// that are not become the replacement character.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
    return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace apportion
