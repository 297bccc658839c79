#include "chat/output/tool.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "json/json.h"

namespace skipstone::chat {
namespace {

const SortedJson* member(const SortedJson& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

const std::string* text_member(const SortedJson& object, std::string_view key) {
  const SortedJson* value = member(object, key);
  return value == nullptr ? nullptr : value->get_ptr<const std::string*>();
}

const SortedJson::array_t* list_member(const SortedJson& object, std::string_view key) {
  const SortedJson* value = member(object, key);
  return value == nullptr ? nullptr : value->get_ptr<const SortedJson::array_t*>();
}

bool is_of_type(const SortedJson& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "number") return value.is_number();
  return type == "integer" && (value.is_number_integer() || (value.is_number() && std::trunc(value.get<double>()) == value.get<double>()));
}

/// Keywords that concern texts, and values of other types: a schema without a type means the type that its keywords concern.
constexpr std::array<std::string_view, 3> text_keywords = {"minLength", "maxLength", "pattern"};
constexpr std::array<std::string_view, 12> other_keywords = {"properties", "required",         "additionalProperties", "items",
                                                             "minItems",   "maxItems",         "prefixItems",          "minimum",
                                                             "maximum",    "exclusiveMinimum", "exclusiveMaximum",     "multipleOf"};

/// What a JSON Schema says of the types of values. Its rules inside one type, such as lengths, patterns and members, are not applied.
class Schema {
 public:
  explicit Schema(const SortedJson& root) : root_(root) {}

  /// Whether `value` may be a parameter's value; null: any text. Nothing: the schema does not describe the parameter.
  std::optional<bool> allows(std::string_view parameter, const SortedJson* value) {
    steps_left_ = most_steps;
    return of_parameter(root_, parameter, value);
  }

 private:
  /// Limits references that form circles, alternatives of alternatives, and long lists in them: 16 values are a step.
  static constexpr int most_steps = 2000, most_depth = 64;

  struct Level {
    explicit Level(Schema& schema) : schema_(schema) { ++schema_.depth_; }
    ~Level() { --schema_.depth_; }
    bool too_much() const { return schema_.depth_ > most_depth || --schema_.steps_left_ < 0; }
    Schema& schema_;
  };

  /// The schema that "$ref" names in this document; null where it has none, or one elsewhere.
  const SortedJson* referenced(const SortedJson& schema) const {
    const std::string* reference = text_member(schema, "$ref");
    if (reference == nullptr || (*reference != "#" && !reference->starts_with("#/"))) return nullptr;
    const SortedJson* at = &root_;
    for (std::size_t from = 1; from < reference->size() && at != nullptr;) {
      const std::size_t end = std::min(reference->find('/', from + 1), reference->size());
      std::string key = reference->substr(from + 1, end - from - 1);
      for (const auto& [escape, character] : {std::pair("~1", "/"), std::pair("~0", "~")}) {
        for (std::size_t i = key.find(escape); i != std::string::npos; i = key.find(escape, i + 1)) key.replace(i, 2, character);
      }
      const auto* list = at->get_ptr<const SortedJson::array_t*>();
      const bool index =
          list != nullptr && !key.empty() && key.size() < 6 && std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; });
      at = index ? (std::stoul(key) < list->size() ? &(*list)[std::stoul(key)] : nullptr) : member(*at, key);
      from = end;
    }
    return at;
  }

  static bool type_allows(const SortedJson& schema, const SortedJson* value) {
    const SortedJson* type = member(schema, "type");
    if (type == nullptr) return true;
    const auto fits = [&](const SortedJson& name) {
      const auto* text = name.get_ptr<const std::string*>();
      return text != nullptr && (value == nullptr ? *text == "string" : is_of_type(*value, *text));
    };
    const auto* types = type->get_ptr<const SortedJson::array_t*>();
    return types == nullptr ? fits(*type) : std::ranges::any_of(*types, fits);
  }

  static bool values_allow(const SortedJson& schema, const SortedJson* value) {
    const auto fits = [&](const SortedJson& one) { return value == nullptr ? one.is_string() : one == *value; };
    const SortedJson* constant = member(schema, "const");
    const SortedJson::array_t* values = list_member(schema, "enum");
    return (constant == nullptr || fits(*constant)) && (values == nullptr || std::ranges::any_of(*values, fits));
  }

  static bool keywords_allow(const SortedJson& schema, const SortedJson* value) {
    if (value != nullptr && !value->is_string()) return true;
    const auto has = [&](std::string_view key) { return schema.contains(std::string(key)); };
    return has("type") || std::ranges::any_of(text_keywords, has) || std::ranges::none_of(other_keywords, has);
  }

  bool schema_allows(const SortedJson& schema, const SortedJson* value) {
    const Level level(*this);
    if (level.too_much()) return false;
    if (schema.is_boolean()) return schema.get<bool>();
    if (!schema.is_object()) return true;
    for (const char* key : {"type", "enum"}) {
      if (const auto* values = list_member(schema, key))
        steps_left_ -= static_cast<int>(std::min(values->size() / 16, std::size_t{most_steps}));
    }
    if (steps_left_ < 0) return false;
    const auto all = [&](const SortedJson& one) { return schema_allows(one, value); };
    if (!type_allows(schema, value) || !values_allow(schema, value) || !keywords_allow(schema, value)) return false;
    if (const SortedJson* target = referenced(schema); target != nullptr && !all(*target)) return false;
    if (const auto* parts = list_member(schema, "allOf"); parts != nullptr && !std::ranges::all_of(*parts, all)) return false;
    return std::ranges::all_of(alternatives, [&](std::string_view key) {
      const auto* choices = list_member(schema, key);
      return choices == nullptr || std::ranges::any_of(*choices, all);
    });
  }

  std::optional<bool> of_parameter(const SortedJson& schema, std::string_view parameter, const SortedJson* value) {
    const Level level(*this);
    if (level.too_much() || !schema.is_object()) return std::nullopt;
    std::optional<bool> result;
    const auto also = [&](std::optional<bool> one) {
      if (one) result = result.value_or(true) && *one;
    };
    const SortedJson* properties = member(schema, "properties");
    const SortedJson* own = properties == nullptr ? nullptr : member(*properties, parameter);
    const SortedJson* others = member(schema, "additionalProperties");
    if (own != nullptr) {
      also(schema_allows(*own, value));
    } else if (others != nullptr && others->is_object()) {
      also(schema_allows(*others, value));
    }
    if (const SortedJson* target = referenced(schema)) also(of_parameter(*target, parameter, value));
    if (const auto* parts = list_member(schema, "allOf")) {
      for (const SortedJson& part : *parts) also(of_parameter(part, parameter, value));
    }
    for (const std::string_view key : alternatives) {
      const auto* choices = list_member(schema, key);
      if (choices == nullptr) continue;
      std::optional<bool> any;
      for (const SortedJson& choice : *choices) {
        if (const std::optional<bool> one = of_parameter(choice, parameter, value)) any = any.value_or(false) || *one;
      }
      also(any);
    }
    return result;
  }

  static constexpr std::array<std::string_view, 2> alternatives = {"anyOf", "oneOf"};

  const SortedJson& root_;
  int steps_left_ = most_steps, depth_ = 0;
};

}  // namespace

bool Tool::is_text(std::string_view parameter, std::string_view text, std::string_view json) const {
  if (!parameters) return false;
  Schema schema(*parameters);
  const SortedJson as_text(text), as_json = SortedJson::parse(json, nullptr, false);
  if (schema.allows(parameter, &as_text).value_or(false)) return true;
  return schema.allows(parameter, nullptr).value_or(false) && !schema.allows(parameter, &as_json).value_or(false);
}

std::vector<Tool> tools_from(const SortedJson& list) {
  std::vector<Tool> tools;
  if (!list.is_array()) return tools;
  for (const SortedJson& entry : list) {
    const SortedJson* inner = member(entry, "function");
    const SortedJson& function = inner != nullptr ? *inner : entry;
    const std::string* name = text_member(function, "name");
    if (name == nullptr) continue;
    const SortedJson* parameters = member(function, "parameters");
    tools.push_back({*name, parameters == nullptr ? nullptr : std::make_shared<const SortedJson>(*parameters)});
  }
  return tools;
}

}  // namespace skipstone::chat
