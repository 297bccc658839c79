// Writes records as JSON and reads them.
#include "report/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <type_traits>
#include <utility>

#include "base/escape.h"
#include "base/input_file.h"
#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "report/fields.h"

namespace cli::report {
namespace {

using skipstone::Code;
using skipstone::fail;
using skipstone::SortedJson;

constexpr const char* schema_name = "skipstone-report";
constexpr std::uint64_t most_file_bytes = std::uint64_t{4} << 20;
constexpr std::size_t most_text_bytes = 1000, most_sentence_bytes = 400, most_elements = 256;
constexpr double largest_number = 1e18;

class Writer {
 public:
  template <typename T>
  void operator()(const char* name, T& field) {
    object_[name] = json(field);
  }
  void hash(const char* name, std::string& field) { object_[name] = field; }
  template <typename T>
  void may_lack(const char* name, std::optional<T>& field) {
    if (field) object_[name] = *field;
  }

  Json take() { return std::move(object_); }

 private:
  template <typename T>
  static Json json(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Writer part;
      fields(part, value);
      return part.take();
    }
  }
  template <typename T>
  static Json json(std::optional<T>& value) {
    return value ? json(*value) : Json(nullptr);
  }
  template <typename T>
  static Json json(std::vector<T>& values) {
    Json list = Json::array();
    for (T& value : values) list.push_back(json(value));
    return list;
  }

  Json object_ = Json::object();
};

/// Reads the fields of one object. `place` names it: "the record" or "devices[0].doctor".
class Reader {
 public:
  Reader(const SortedJson& value, const std::string& file, std::string place) : object_(value), file_(file), place_(std::move(place)) {
    if (!value.is_object()) refuse(place_.empty() ? "the record" : place_, value, "an object");
  }

  template <typename T>
  void operator()(const char* name, T& field) {
    read(member(name), path(name), field);
  }

  void hash(const char* name, std::string& field) {
    (*this)(name, field);
    const bool sound = field.size() == 16 && field.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!sound) refuse(path(name), member(name), "16 hexadecimal digits");
  }

  template <typename T>
  void may_lack(const char* name, std::optional<T>& field) {
    known_.insert(name);
    if (object_.contains(name)) read(object_[name], path(name), field.emplace());
  }

  /// The member of this name, which then counts as known.
  const SortedJson& member(const char* name) {
    known_.insert(name);
    const auto found = object_.find(name);
    if (found == object_.end()) fail(Code::bad_file, "{}: the field {} is missing", file_, path(name));
    return *found;
  }

  /// To be called after the last field.
  void refuse_others() const {
    for (const auto& [name, value] : object_.items()) {
      if (!known_.contains(name)) {
        fail(Code::bad_file, "{}: the field {} is none of a record", file_, skipstone::shortened(path(name.c_str())));
      }
    }
  }

  [[noreturn]] void refuse(const std::string& where, const SortedJson& value, const std::string& wanted) const {
    fail(Code::bad_file, "{}: {} is {} where {} was expected", file_, where, skipstone::shown(value), wanted);
  }

 private:
  std::string path(const char* name) const { return place_.empty() ? name : fmt::format("{}.{}", place_, name); }

  template <typename T>
  void read(const SortedJson& value, const std::string& where, T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!value.is_boolean()) refuse(where, value, "true or false");
      field = value.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      constexpr std::uint64_t most = std::numeric_limits<T>::max();
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
        refuse(where, value, fmt::format("a whole number from 0 to {}", most));
      }
      field = value.get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= largest_number)) {
        refuse(where, value, "a number from 0 to 1e18");
      }
      field = value.get<double>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_string()) refuse(where, value, "a text");
      field = value.get<std::string>();
      if (field.size() > most_text_bytes) {
        fail(Code::bad_file, "{}: {} is a text of {} bytes, more than {}", file_, where, field.size(), most_text_bytes);
      }
    } else {
      Reader part(value, file_, where);
      fields(part, field);
      part.refuse_others();
    }
  }

  template <typename T>
  void read(const SortedJson& value, const std::string& where, std::optional<T>& field) {
    if (!value.is_null()) read(value, where, field.emplace());
  }

  template <typename T>
  void read(const SortedJson& value, const std::string& where, std::vector<T>& list) {
    if (!value.is_array()) refuse(where, value, "a list");
    if (value.size() > most_elements) {
      fail(Code::bad_file, "{}: {} has {} elements, more than {}", file_, where, value.size(), most_elements);
    }
    list.resize(value.size());
    for (std::size_t i = 0; i < list.size(); ++i) read(value[i], fmt::format("{}[{}]", where, i), list[i]);
  }

  const SortedJson& object_;
  const std::string& file_;
  std::string place_;
  std::set<std::string> known_;
};

/// Checks beyond the field types.
void check(const Record& record, const std::string& file) {
  if (record.devices.empty()) fail(Code::bad_file, "{}: the list devices is empty", file);
  if (record.systems.empty()) fail(Code::bad_file, "{}: the list systems is empty", file);
  for (std::size_t i = 0; i < record.devices.size(); ++i) {
    if (const auto host = record.devices[i].host.value_or(0); host >= record.systems.size()) {
      fail(Code::bad_file, "{}: devices[{}].host is {}, and systems has {} elements", file, i, host, record.systems.size());
    }
  }
}

}  // namespace

Json to_json(const Record& record) {
  Json document = {{"schema", schema_name}, {"schema_version", schema_version}};
  Record copy = record;
  Writer writer;
  fields(writer, copy);
  document.update(writer.take());
  return document;
}

Record read_record(std::string_view text, const std::string& file) {
  const SortedJson document = skipstone::parse_json_object(text, file);
  Reader reader(document, file, "");
  if (const SortedJson& schema = reader.member("schema"); schema != schema_name)
    reader.refuse("schema", schema, fmt::format("\"{}\"", schema_name));
  const SortedJson& version = reader.member("schema_version");
  if (!version.is_number_unsigned()) reader.refuse("schema_version", version, "a whole number");
  if (version < oldest_schema_version || version > schema_version) {
    fail(Code::bad_file, "{}: schema_version is {}, and this program reads {} to {}; use the version of skipstone that wrote it", file,
         skipstone::shown(version), oldest_schema_version, schema_version);
  }
  Record record;
  fields(reader, record);
  reader.refuse_others();
  check(record, file);
  return record;
}

Record read_record_file(const std::string& path) {
  return read_record(skipstone::read_whole_file(path, most_file_bytes), fmt::format("'{}'", path));
}

Record merged(std::vector<Record> parts) {
  Record all = std::move(parts.front());
  if (parts.size() == 1) return all;
  for (Device& device : all.devices) device.host = device.host.value_or(0);
  for (Record& part : std::span(parts).subspan(1)) {
    const auto first = static_cast<std::uint32_t>(all.systems.size());
    std::ranges::move(part.systems, std::back_inserter(all.systems));
    for (Device& device : part.devices) {
      device.host = first + device.host.value_or(0);
      all.devices.push_back(std::move(device));
    }
  }
  if (const std::size_t most = std::max(all.systems.size(), all.devices.size()); most > most_elements) {
    fail(Code::unsupported, "a record has at most {} machines and devices, and here are {}; measure them in several jobs", most_elements,
         most);
  }
  return all;
}

std::string shareable(std::string_view sentence) {
  std::string safe;
  for (std::size_t at = 0, end = 0; at < sentence.size(); at = end) {
    const char first = sentence[at];
    if (first == ' ' || first == '(') {
      safe += first;
      end = at + 1;
      continue;
    }
    // A quoted text counts as one word, since names may have blanks.
    const bool quoted = first == '\'' || first == '"';
    end = quoted ? sentence.find(first, at + 1) : sentence.find(' ', at);
    end = end == std::string_view::npos ? sentence.size() : end + (quoted ? 1 : 0);
    const std::string_view word = sentence.substr(at, end - at);
    safe += word.find_first_of("/\\") == std::string_view::npos ? word : "(path)";
  }
  return skipstone::shortened(safe, most_sentence_bytes);
}

}  // namespace cli::report
