// + - * / // % ** and the signs.
#include <cmath>
#include <limits>

#include "base/elementary.h"
#include "base/status.h"
#include "chat/jinja/operators.h"

namespace skipstone::chat::jinja {
namespace {

const char* symbol(Operator op) {
  switch (op) {
    case Operator::add:
      return "+";
    case Operator::subtract:
      return "-";
    case Operator::multiply:
      return "*";
    case Operator::divide:
      return "/";
    case Operator::floor_divide:
      return "//";
    case Operator::modulo:
      return "%";
    default:
      return "** or pow()";
  }
}

[[noreturn]] void fail_types(Operator op, const Value& a, const Value& b) {
  fail(Code::invalid_argument, "unsupported operand type(s) for {}: '{}' and '{}'", symbol(op), type_name(a), type_name(b));
}

[[noreturn]] void fail_large() {
  fail(Code::invalid_argument, "an integer beyond 64 bits would be computed, which templates cannot do here");
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) fail(Code::invalid_argument, "integer division or modulo by zero");
  if (b == -1) {
    if (a == std::numeric_limits<std::int64_t>::min()) fail_large();
    return -a;
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) fail(Code::invalid_argument, "integer modulo by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// std::pow, with the same bits on every platform.
double real_power(double base, double exponent) {
  if (!std::isfinite(base) || !std::isfinite(exponent) || base == 0) return std::pow(base, exponent);
  if (base > 0) return power(base, exponent);
  if (exponent != std::floor(exponent)) return std::numeric_limits<double>::quiet_NaN();
  const double size = power(-base, exponent);
  return std::fmod(exponent, 2) == 0 ? size : -size;
}

Value integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return real_power(static_cast<double>(base), static_cast<double>(exponent));
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (result == 0 || (base == 1) || (base == 0)) return base;
    if (base == -1) return std::int64_t{exponent % 2 == 0 ? result : -result};
    if (__builtin_mul_overflow(result, base, &result)) fail_large();
  }
  return result;
}

Value integers(Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool large = false;
  switch (op) {
    case Operator::add:
      large = __builtin_add_overflow(a, b, &result);
      break;
    case Operator::subtract:
      large = __builtin_sub_overflow(a, b, &result);
      break;
    case Operator::multiply:
      large = __builtin_mul_overflow(a, b, &result);
      break;
    case Operator::divide:
      if (b == 0) fail(Code::invalid_argument, "division by zero");
      return static_cast<double>(a) / static_cast<double>(b);
    case Operator::floor_divide:
      return floor_quotient(a, b);
    case Operator::modulo:
      return floor_remainder(a, b);
    default:
      return integer_power(a, b);
  }
  if (large) fail_large();
  return result;
}

Value reals(Operator op, double a, double b) {
  if (b == 0 && (op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo)) {
    fail(Code::invalid_argument, "float division by zero");
  }
  switch (op) {
    case Operator::add:
      return a + b;
    case Operator::subtract:
      return a - b;
    case Operator::multiply:
      return a * b;
    case Operator::divide:
      return a / b;
    case Operator::floor_divide:
      return std::floor(a / b);
    case Operator::modulo: {
      const double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    default:
      return real_power(a, b);
  }
}

Value repeated(Guard& guard, const Value& what, std::int64_t count) {
  if (count < 0) count = 0;
  if (const String* string = what.string()) {
    const std::size_t size = string->text.size();
    if (size > 0 && static_cast<std::uint64_t>(count) > guard.limits().text_bytes / size) {
      fail(Code::invalid_argument, "a text of the template would be longer than {} MiB", guard.limits().text_bytes >> 20U);
    }
    Text all;
    all.reserve(size * static_cast<std::size_t>(count));
    for (std::int64_t i = 0; size > 0 && i < count; ++i) {
      guard.step();
      all.append(string->text);
    }
    return make_string(&guard, std::move(all), string->markup);
  }
  const Sequence& sequence = *what.sequence();
  const std::size_t size = sequence.items.size();
  if (size > 0 && static_cast<std::uint64_t>(count) > guard.limits().live_bytes / sizeof(Value) / size) {
    fail(Code::invalid_argument, "a list of the template would take more than {} MiB of memory", guard.limits().live_bytes >> 20U);
  }
  guard.step(size * static_cast<std::size_t>(count));
  std::vector<Value> items;
  items.reserve(size * static_cast<std::size_t>(count));
  for (std::int64_t i = 0; size > 0 && i < count; ++i) items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return make_sequence(&guard, sequence.kind, std::move(items));
}

bool is_listing(const Value& value) {
  const Sequence* sequence = value.sequence();
  return sequence != nullptr && (sequence->kind == Sequence::Kind::list || sequence->kind == Sequence::Kind::tuple);
}

Value add_strings(Guard& guard, const String& a, const String& b, const Value& left, const Value& right) {
  const bool markup = a.markup || b.markup;
  if (markup) guard.step((a.text.size() + b.text.size()) / 16);
  Text sum;
  sum.reserve(a.text.size() + b.text.size());
  sum.append(markup && !a.markup ? html_escaped(left) : a.text);
  sum.append(markup && !b.markup ? html_escaped(right) : b.text);
  return make_string(&guard, std::move(sum), markup);
}

/// Sums of values other than numbers.
Value add(Guard& guard, const Value& a, const Value& b) {
  const String* left = a.string();
  const String* right = b.string();
  if (left != nullptr && right != nullptr) return add_strings(guard, *left, *right, a, b);
  if (left != nullptr && !left->markup) fail(Code::invalid_argument, "can only concatenate str (not \"{}\") to str", type_name(b));
  if (is_listing(a)) {
    if (!is_listing(b) || a.sequence()->kind != b.sequence()->kind) {
      fail(Code::invalid_argument, "can only concatenate {} (not \"{}\") to {}", type_name(a), type_name(b), type_name(a));
    }
    std::vector<Value> items = a.sequence()->items;
    items.insert(items.end(), b.sequence()->items.begin(), b.sequence()->items.end());
    return make_sequence(&guard, a.sequence()->kind, std::move(items));
  }
  fail_types(Operator::add, a, b);
}

/// "%s and %d" % (a, b), with %s %r %d %i %f %x and %%; widths and precisions are not known.
Value formatted(Guard& guard, const Value& format, const Value& given) {
  const Sequence* several = given.sequence() != nullptr && given.sequence()->kind == Sequence::Kind::tuple ? given.sequence() : nullptr;
  const Text& text = format.string()->text;
  guard.step(text.size() / 8);
  Text out;
  std::size_t used = 0;
  const auto next = [&]() -> const Value& {
    if (several == nullptr ? used > 0 : used >= several->items.size())
      fail(Code::invalid_argument, "not enough arguments for format string");
    return several == nullptr ? (++used, given) : several->items[used++];
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.bytes()[i] != '%') {
      out.append_part(text, i, i + 1);
      continue;
    }
    const char kind = ++i < text.size() ? text.bytes()[i] : '\0';
    if (kind == '%') {
      out.append_part(text, i, i + 1);
    } else if (kind == 's') {
      out.append(printed(guard, next()));
    } else if (kind == 'r') {
      out.append(represented(guard, next()));
    } else if (kind == 'd' || kind == 'i') {
      const Value& value = next();
      const auto real = as_real(value);
      if (!real) fail(Code::invalid_argument, "%{} format: a real number is required, not {}", kind, type_name(value));
      out.append(printed(guard, as_integer(value) ? Value(*as_integer(value)) : Value(static_cast<std::int64_t>(*real))));
    } else if (kind == 'f') {
      const auto real = as_real(next());
      if (!real) fail(Code::invalid_argument, "must be real number for %f");
      out.append(fmt::format("{:f}", *real), Origin::data);
    } else {
      fail(Code::invalid_argument, "the format '%{}' is not known", kind == '\0' ? ' ' : kind);
    }
  }
  const bool takes_none = several == nullptr && (given.dict() != nullptr || given.sequence() != nullptr);
  if (!takes_none && used < (several == nullptr ? 1 : several->items.size()))
    fail(Code::invalid_argument, "not all arguments converted during string formatting");
  return make_string(&guard, std::move(out), format.string()->markup);
}

}  // namespace

std::optional<std::int64_t> as_integer(const Value& value) {
  if (const auto* number = value.get<std::int64_t>()) return *number;
  if (const auto* boolean = value.get<bool>()) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::optional<double> as_real(const Value& value) {
  if (const auto* number = value.get<double>()) return *number;
  if (const auto number = as_integer(value)) return static_cast<double>(*number);
  return std::nullopt;
}

std::int64_t integer(const Value& value, const char* what) {
  require_defined(value);
  const auto number = as_integer(value);
  if (!number) fail(Code::invalid_argument, "{} must be an integer, not '{}'", what, type_name(value));
  return *number;
}

Value compute(Guard& guard, Operator op, const Value& a, const Value& b) {
  require_defined(a);
  require_defined(b);
  const auto left = as_integer(a);
  const auto right = as_integer(b);
  Value result;
  if (left && right) {
    result = integers(op, *left, *right);
  } else if (as_real(a) && as_real(b)) {
    result = reals(op, *as_real(a), *as_real(b));
  } else if (op == Operator::multiply && right && (a.string() != nullptr || is_listing(a))) {
    return repeated(guard, a, *right);
  } else if (op == Operator::multiply && left && (b.string() != nullptr || is_listing(b))) {
    return repeated(guard, b, *left);
  } else if ((a.is<BigInteger>() || as_real(a)) && (b.is<BigInteger>() || as_real(b))) {
    fail_large();
  } else if (op == Operator::add) {
    return add(guard, a, b);
  } else if (op == Operator::modulo && a.string() != nullptr) {
    return formatted(guard, a, b);
  } else {
    fail_types(op, a, b);
  }
  if (a.origin == Origin::data || b.origin == Origin::data) result.origin = Origin::data;
  return result;
}

Value negated(const Value& value) {
  require_defined(value);
  Value result;
  if (const auto* real = value.get<double>()) {
    result = -*real;
  } else if (const auto* big = value.get<BigInteger>()) {
    const std::string& digits = *big->digits;
    if (digits == "9223372036854775808") {
      result = std::numeric_limits<std::int64_t>::min();
    } else {
      result = BigInteger{std::make_shared<const std::string>(digits[0] == '-' ? digits.substr(1) : "-" + digits)};
    }
  } else if (const auto number = as_integer(value)) {
    if (*number == std::numeric_limits<std::int64_t>::min()) fail_large();
    result = std::int64_t{-*number};
  } else {
    fail(Code::invalid_argument, "bad operand type for unary -: '{}'", type_name(value));
  }
  result.origin = value.origin;
  return result;
}

Value as_number(const Value& value) {
  require_defined(value);
  if (value.is<double>() || value.is<BigInteger>()) return value;
  const auto number = as_integer(value);
  if (!number) fail(Code::invalid_argument, "bad operand type for unary +: '{}'", type_name(value));
  Value result(*number);
  result.origin = value.origin;
  return result;
}

}  // namespace skipstone::chat::jinja
