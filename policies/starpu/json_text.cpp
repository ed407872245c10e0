// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/json_text.hpp"

#include <nlohmann/json.hpp>

namespace apportion {

JsonText::JsonText(const std::string& value)
    : text_(nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {}

JsonText::JsonText(const std::vector<JsonMember>& members) : text_("{") {
    for (const JsonMember& member : members) {
        if (text_.size() > 1) text_ += ',';
        text_ += JsonText(member.key).text() + ':' + member.value.text();
    }
    text_ += '}';
}

JsonText::JsonText(std::initializer_list<JsonMember> members) : JsonText(std::vector<JsonMember>(members)) {}

}  // namespace apportion
