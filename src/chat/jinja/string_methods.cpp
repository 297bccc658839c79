// Methods of strings.
#include <algorithm>
#include <map>

#include "base/status.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace skipstone::chat::jinja {

namespace {

/// One call.
struct Call {
  Guard& guard;
  const String& string;
  const std::string& name;
  const Arguments& arguments;

  Value text(Text result) const { return make_string(&guard, std::move(result), string.markup); }
  std::string_view bytes() const { return string.bytes(); }
  Value list(std::vector<Value> parts) const { return make_sequence(&guard, Sequence::Kind::list, std::move(parts)); }
};

std::int64_t count_argument(const Value* value, std::int64_t otherwise) {
  return value == nullptr || value->is<None>() ? otherwise : integer(*value, "the argument");
}

std::vector<Value> split_at_space(const Call& call, std::int64_t most) {
  std::vector<Value> parts;
  const Text& text = call.string.text;
  std::size_t at = strip_begin(call.bytes());
  while (at < text.size()) {
    call.guard.step();
    std::size_t end = at;
    if (static_cast<std::int64_t>(parts.size()) == most) {
      end = strip_end(call.bytes());
    } else {
      while (end < text.size() && !is_white_space(code_point_at(call.bytes(), end))) end += character_size(call.bytes(), end);
    }
    parts.push_back(call.text(text.part(at, end)));
    at = end + strip_begin(call.bytes().substr(end));
  }
  return parts;
}

std::vector<Value> split_at(const Call& call, std::string_view separator, std::int64_t most) {
  std::vector<Value> parts;
  const Text& text = call.string.text;
  std::size_t begin = 0;
  for (; most < 0 || static_cast<std::int64_t>(parts.size()) < most;) {
    const std::size_t found = find_text(call.bytes(), separator, begin);
    if (found == std::string_view::npos) break;
    call.guard.step();
    parts.push_back(call.text(text.part(begin, found)));
    begin = found + separator.size();
  }
  parts.push_back(call.text(text.part(begin)));
  return parts;
}

Value split(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"sep", "maxsplit"});
  call.guard.step(call.bytes().size() / 32);
  const std::int64_t most = count_argument(bound[1], -1);
  if (bound[0] == nullptr || bound[0]->is<None>()) return call.list(split_at_space(call, most));
  const std::string_view separator = string_argument(*bound[0], "the separator").bytes();
  if (separator.empty()) fail(Code::invalid_argument, "empty separator");
  return call.list(split_at(call, separator, most));
}

/// As split(), but where there are more parts than asked for, the first ones stay together.
Value split_from_right(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"sep", "maxsplit"});
  const auto most = count_argument(bound[1], -1);
  const bool white = bound[0] == nullptr || bound[0]->is<None>();
  const std::string_view separator = white ? std::string_view() : string_argument(*bound[0], "the separator").bytes();
  if (!white && separator.empty()) fail(Code::invalid_argument, "empty separator");
  std::vector<Value> parts = white ? split_at_space(call, -1) : split_at(call, separator, -1);
  if (most < 0 || static_cast<std::int64_t>(parts.size()) <= most + 1) return call.list(std::move(parts));
  const auto kept = static_cast<std::size_t>(most);
  std::size_t end = call.string.text.size();
  for (std::size_t i = 0; i < kept; ++i) {
    if (white) end = strip_end(call.bytes().substr(0, end));
    end -= parts[parts.size() - 1 - i].string()->text.size() + (white ? 0 : separator.size());
  }
  if (white) end = strip_end(call.bytes().substr(0, end));
  std::vector<Value> result = {call.text(call.string.text.part(0, end))};
  result.insert(result.end(), parts.end() - static_cast<std::ptrdiff_t>(kept), parts.end());
  return call.list(std::move(result));
}

Value strip(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"chars"});
  return call.text(stripped(call.string.text, bound[0], call.name != "rstrip", call.name != "lstrip"));
}

/// startswith, endswith: one string or a tuple of them.
Value begins_or_ends(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"prefix", "start", "end"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "{}() takes at least 1 argument (0 given)", call.name);
  const std::size_t first =
      byte_of_character(call.bytes(), static_cast<std::size_t>(std::max<std::int64_t>(0, count_argument(bound[1], 0))));
  const std::string_view text = call.bytes().substr(first);
  const auto holds = [&](const Value& value) {
    const std::string_view part = string_argument(value, "the argument of startswith and endswith").bytes();
    if (part.size() > text.size()) return false;
    return (call.name == "startswith" ? text.substr(0, part.size()) : text.substr(text.size() - part.size())) == part;
  };
  const Sequence* several = bound[0]->sequence();
  if (several == nullptr || several->kind != Sequence::Kind::tuple) return holds(*bound[0]);
  return std::any_of(several->items.begin(), several->items.end(), holds);
}

Value replace(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"old", "new", "count"});
  if (bound[0] == nullptr || bound[1] == nullptr) fail(Code::invalid_argument, "replace expected at least 2 arguments");
  const String& with = string_argument(*bound[1], "replace() argument 2");
  const bool escape = call.string.markup && !with.markup;
  return call.text(replaced(call.guard, call.string.text, string_argument(*bound[0], "replace() argument 1").bytes(),
                            escape ? html_escaped(*bound[1]) : with.text, count_argument(bound[2], -1)));
}

Value recase(const Call& call) {
  static const std::map<std::string_view, Casing> casings = {
      {"upper", Casing::upper},  {"lower", Casing::lower},      {"capitalize", Casing::capitalized},
      {"title", Casing::titled}, {"swapcase", Casing::swapped}, {"casefold", Casing::lower}};
  call.arguments.bind(call.name, {});
  call.guard.step(call.bytes().size() / 4);
  return call.text(recased(call.string.text, casings.at(call.name)));
}

/// find, rfind, index, rindex, count, within characters [start, end).
Value search(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"sub", "start", "end"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "{}() takes at least 1 argument (0 given)", call.name);
  const std::string_view what = string_argument(*bound[0], "the text to look for").bytes();
  const auto size = static_cast<std::int64_t>(count_characters(call.bytes()));
  const auto place = [&](const Value* value, std::int64_t otherwise) {
    const std::int64_t at = count_argument(value, otherwise);
    return byte_of_character(call.bytes(), static_cast<std::size_t>(std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size)));
  };
  const std::size_t first = place(bound[1], 0);
  const std::size_t end = std::max(first, place(bound[2], size));
  const std::string_view text = call.bytes().substr(0, end);
  std::int64_t count = 0;
  std::size_t found = std::string_view::npos;
  for (std::size_t at = find_text(text, what, first); at != std::string_view::npos; at = find_text(text, what, at)) {
    call.guard.step(1 + what.size() / 64);
    ++count;
    found = at;
    if (call.name == "find" || call.name == "index") break;
    at += call.name == "count" && !what.empty() ? what.size() : at < text.size() ? character_size(text, at) : 1;
  }
  if (call.name == "count") return count;
  if (found != std::string_view::npos) return static_cast<std::int64_t>(count_characters(text.substr(0, found)));
  if (call.name == "index" || call.name == "rindex") fail(Code::invalid_argument, "substring not found");
  return std::int64_t{-1};
}

Value join(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"iterable"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "join() takes exactly one argument (0 given)");
  Text out;
  const SequenceRef items = items_of(call.guard, *bound[0]);
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    call.guard.step();
    if (i > 0) out.append(call.string.text);
    const String& part = string_argument(items->items[i], "a sequence item of join()");
    out.append(call.string.markup && !part.markup ? html_escaped(items->items[i]) : part.text);
  }
  call.guard.step_over(out.size());
  return call.text(std::move(out));
}

Value split_lines(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"keepends"});
  return call.list(lines_of(call.guard, call.string.text, bound[0] != nullptr && truth(*bound[0]), call.string.markup));
}

/// center, ljust, rjust, zfill.
Value justify(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"width", "fillchar"});
  const auto size = static_cast<std::int64_t>(count_characters(call.bytes()));
  if (bound[0] == nullptr) fail(Code::invalid_argument, "{}() takes at least 1 argument (0 given)", call.name);
  const std::int64_t width = integer(*bound[0], "the width");
  Text fill(call.name == "zfill" ? "0" : " ", Origin::template_text);
  if (bound[1] != nullptr) fill = string_argument(*bound[1], "the fill character").text;
  if (count_characters(fill.bytes()) != 1) fail(Code::invalid_argument, "The fill character must be exactly one character long");
  const std::int64_t missing = std::max<std::int64_t>(0, width - size);
  call.guard.step(static_cast<std::uint64_t>(missing));
  // CPython's str.center() gives the odd one to the left where the width is odd.
  const std::int64_t left = call.name == "ljust" ? 0 : call.name == "center" ? missing / 2 + (missing & width & 1) : missing;
  Text out;
  const bool sign = call.name == "zfill" && size > 0 && (call.bytes()[0] == '-' || call.bytes()[0] == '+');
  if (sign) out.append_part(call.string.text, 0, 1);
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append_part(call.string.text, sign ? 1 : 0, call.string.text.size());
  for (std::int64_t i = left; i < missing; ++i) out.append(fill);
  return call.text(std::move(out));
}

Value remove_end(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"part"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "{}() takes exactly one argument (0 given)", call.name);
  const std::string_view part = string_argument(*bound[0], "the argument").bytes();
  const std::string_view text = call.bytes();
  const Text& whole = call.string.text;
  if (part.size() > text.size()) return call.text(whole);
  if (call.name == "removeprefix") return call.text(text.substr(0, part.size()) == part ? whole.part(part.size()) : whole);
  const std::size_t end = text.size() - part.size();
  return call.text(text.substr(end) == part ? whole.part(0, end) : whole);
}

Value partition(const Call& call) {
  const auto bound = call.arguments.bind(call.name, {"sep"});
  if (bound[0] == nullptr) fail(Code::invalid_argument, "{}() takes exactly one argument (0 given)", call.name);
  const std::string_view separator = string_argument(*bound[0], "the separator").bytes();
  if (separator.empty()) fail(Code::invalid_argument, "empty separator");
  const Text& whole = call.string.text;
  const bool last = call.name == "rpartition";
  std::size_t found = find_text(call.bytes(), separator, 0);
  for (std::size_t next = found; last && next != std::string_view::npos; next = find_text(call.bytes(), separator, next + 1)) {
    call.guard.step(1 + separator.size() / 64);
    found = next;
  }
  std::vector<Value> parts;
  if (found == std::string_view::npos) {
    parts = {call.text(last ? Text() : whole), call.text(Text()), call.text(last ? whole : Text())};
  } else {
    parts = {call.text(whole.part(0, found)), call.text(whole.part(found, found + separator.size())),
             call.text(whole.part(found + separator.size()))};
  }
  return make_sequence(&call.guard, Sequence::Kind::tuple, std::move(parts));
}

/// isdigit and its kin: whether there are characters, and all are of the kind; isupper and islower: of those that have a case.
Value is_all(const Call& call) {
  call.arguments.bind(call.name, {});
  const std::string_view bytes = call.bytes();
  call.guard.step(bytes.size());
  if (call.name == "isascii") return std::all_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  bool any = false;
  for (std::size_t at = 0, size = 0; at < bytes.size(); at += size) {
    size = character_size(bytes, at);
    const std::string_view character = bytes.substr(at, size);
    const bool wants_upper = call.name == "isupper";
    if (wants_upper || call.name == "islower") {
      const bool upper = has_property(character, "Lu") || has_property(character, "Lt");
      const bool lower = has_property(character, "Ll");
      if (wants_upper ? lower : upper) return false;
      any = any || upper || lower;
      continue;
    }
    const bool letter = (call.name == "isalpha" || call.name == "isalnum") && has_property(character, "L");
    const bool number = (call.name == "isnumeric" || call.name == "isalnum")
                            ? has_property(character, "N")
                            : (call.name == "isdigit" || call.name == "isdecimal") && has_property(character, "Nd");
    if (!letter && !number && !(call.name == "isspace" && is_white_space(code_point_at(bytes, at)))) return false;
    any = true;
  }
  return any;
}

using Handler = Value (*)(const Call&);

const std::map<std::string_view, Handler>& handlers() {
  static const std::map<std::string_view, Handler> table = {{"split", split},
                                                            {"rsplit", split_from_right},
                                                            {"strip", strip},
                                                            {"lstrip", strip},
                                                            {"rstrip", strip},
                                                            {"startswith", begins_or_ends},
                                                            {"endswith", begins_or_ends},
                                                            {"replace", replace},
                                                            {"upper", recase},
                                                            {"lower", recase},
                                                            {"capitalize", recase},
                                                            {"title", recase},
                                                            {"swapcase", recase},
                                                            {"casefold", recase},
                                                            {"find", search},
                                                            {"rfind", search},
                                                            {"index", search},
                                                            {"rindex", search},
                                                            {"count", search},
                                                            {"join", join},
                                                            {"splitlines", split_lines},
                                                            {"center", justify},
                                                            {"ljust", justify},
                                                            {"rjust", justify},
                                                            {"zfill", justify},
                                                            {"removeprefix", remove_end},
                                                            {"removesuffix", remove_end},
                                                            {"partition", partition},
                                                            {"rpartition", partition},
                                                            {"isdigit", is_all},
                                                            {"isdecimal", is_all},
                                                            {"isnumeric", is_all},
                                                            {"isalpha", is_all},
                                                            {"isalnum", is_all},
                                                            {"isspace", is_all},
                                                            {"isupper", is_all},
                                                            {"islower", is_all},
                                                            {"isascii", is_all}};
  return table;
}

}  // namespace

bool is_string_method(std::string_view name) { return handlers().count(name) > 0; }

Value call_string_method(Guard& guard, const Value& object, const std::string& name, const Arguments& arguments) {
  guard.step(object.string()->text.size() / 32);
  return handlers().at(name)(Call{guard, *object.string(), name, arguments});
}

}  // namespace skipstone::chat::jinja
