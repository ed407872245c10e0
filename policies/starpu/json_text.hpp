// SPDX-License-Identifier: LGPL-2.1-or-later
//
// JSON, written only: each value is its text. The values of nlohmann's library need memory also to be destroyed, and
// end the program where there is none.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace apportion {

struct JsonMember;

class JsonText {
  public:
    JsonText(std::nullptr_t) : text_("null") {}
    JsonText(std::integral auto value) : text_(fmt::to_string(value)) {}  // also `true`
    JsonText(double value) : text_(std::isfinite(value) ? fmt::to_string(value) : "null") {}
    /// JSON is UTF-8; bytes that are not become the replacement character.
    JsonText(const std::string& value);
    /// An object.
    JsonText(const std::vector<JsonMember>& members);
    JsonText(std::initializer_list<JsonMember> members);
    /// A list.
    template <class T>
    JsonText(const std::vector<T>& values);

    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

struct JsonMember {
    std::string key;
    JsonText value;
};

template <class T>
JsonText::JsonText(const std::vector<T>& values) : text_("[") {
    for (const T& value : values) {
        if (text_.size() > 1) text_ += ',';
        text_ += JsonText(value).text();
    }
    text_ += ']';
}

}  // namespace apportion
