#include "grammar/numbers.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/number.h"
#include "base/status.h"

namespace skipstone::grammar {
namespace {

constexpr std::size_t most_digits = 400, most_states = 10'000;
constexpr std::uint32_t most_factor = 10'000;
constexpr int digits_of_double = 15, most_usual_digits = 40;

/// What has been read of a number, as a tuple that tells states apart.
using Memory = std::vector<int>;

/// A property of numbers that is followed digit by digit. Its memory begins as `start()`.
class Follower {
 public:
  virtual ~Follower() = default;
  virtual Memory start() const = 0;
  /// A digit before or after the point; false where no number with it has the property.
  virtual bool read(Memory& memory, int digit, bool in_fraction) const = 0;
  virtual bool holds(const Memory& memory, bool negative, bool zero) const = 0;
};

/// Compares absolute values, then with the signs the numbers.
class Comparison : public Follower {
 public:
  explicit Comparison(const Bound& bound) : bound_(bound) {}
  // How many digits were read before and after the point (saturating), and how those compare with the bound's.
  Memory start() const override { return {0, 0, 0}; }

  bool read(Memory& memory, int digit, bool in_fraction) const override {
    const std::string& digits = in_fraction ? bound_.value.fraction : bound_.value.whole;
    if (in_fraction && memory[1] == 0) memory = {0, 0, compare_whole(memory)};
    int& count = memory[in_fraction ? 1 : 0];
    if (!in_fraction && count == 0 && digit == 0) return true;  // 0 has no digits before the point
    const auto at = static_cast<std::size_t>(count);
    const int other = at < digits.size() ? digits[at] - '0' : 0;
    if (memory[2] == 0) memory[2] = digit < other ? -1 : digit > other ? 1 : 0;
    count = std::min(count + 1, static_cast<int>(digits.size()) + 1);
    return true;
  }

  bool holds(const Memory& memory, bool negative, bool zero) const override {
    int order = memory[1] == 0 ? compare_whole(memory) : memory[2];
    if (order == 0 && static_cast<std::size_t>(memory[1]) < bound_.value.fraction.size()) order = -1;
    const int sign = zero ? 0 : negative ? -1 : 1;
    const int other_sign = bound_.value.is_zero() ? 0 : bound_.value.negative ? -1 : 1;
    if (sign != other_sign) {
      order = sign < other_sign ? -1 : 1;
    } else {
      order *= sign;
    }
    switch (bound_.relation) {
      case Relation::at_least:
        return order >= 0;
      case Relation::above:
        return order > 0;
      case Relation::at_most:
        return order <= 0;
      case Relation::below:
        return order < 0;
    }
    return false;
  }

 private:
  /// Of the parts before the point: the longer one is larger.
  int compare_whole(const Memory& memory) const {
    const auto length = static_cast<std::size_t>(memory[0]);
    if (length != bound_.value.whole.size()) return length < bound_.value.whole.size() ? -1 : 1;
    return memory[2];
  }

  Bound bound_;
};

/// The remainder after division by a factor, both scaled to whole numbers.
class Multiple : public Follower {
 public:
  Multiple(const Decimal& factor, bool for_writing) : for_writing_(for_writing), scale_(static_cast<int>(factor.fraction.size())) {
    const auto scaled = parse_number<std::uint32_t>(factor.whole + factor.fraction);
    if (!scaled || *scaled > most_factor || *scaled == 0) {
      fail(Code::invalid_argument, "multipleOf: is decided digit by digit, and so for factors of up to {} in their last digit alone",
           most_factor);
    }
    divisor_ = static_cast<int>(*scaled);
  }
  // The remainder, and the digits after the point.
  Memory start() const override { return {0, 0}; }

  bool read(Memory& memory, int digit, bool in_fraction) const override {
    if (in_fraction && memory[1] == scale_) return digit == 0 && !for_writing_;
    memory[0] = (memory[0] * 10 + digit) % divisor_;
    if (in_fraction) ++memory[1];
    return true;
  }

  bool holds(const Memory& memory, bool /*negative*/, bool /*zero*/) const override {
    int remainder = memory[0];
    for (int i = memory[1]; i < scale_; ++i) remainder = remainder * 10 % divisor_;
    return remainder == 0;
  }

 private:
  bool for_writing_;
  int scale_, divisor_ = 1;
};

class Integer : public Follower {
 public:
  explicit Integer(bool point) : point_(point) {}
  Memory start() const override { return {}; }
  bool read(Memory& /*memory*/, int digit, bool in_fraction) const override { return !in_fraction || (point_ && digit == 0); }
  bool holds(const Memory& /*memory*/, bool /*negative*/, bool /*zero*/) const override { return true; }

 private:
  bool point_;  ///< 1.0 is one
};

class FewDigits : public Follower {
 public:
  explicit FewDigits(int most) : most_(most) {}
  Memory start() const override { return {0}; }
  bool read(Memory& memory, int /*digit*/, bool /*in_fraction*/) const override { return ++memory[0] <= most_; }
  bool holds(const Memory& /*memory*/, bool /*negative*/, bool /*zero*/) const override { return true; }

 private:
  int most_;
};

/// Digits enough for what a model writes: one more than the limits have, so that there are numbers between bounds that are neighbours.
int most_digits_of(const NumberLimits& limits) {
  std::size_t whole = 1, fraction = 0;
  const auto include = [&](const Decimal& value) {
    whole = std::max(whole, value.whole.size());
    fraction = std::max(fraction, value.fraction.size());
  };
  for (const Bound& bound : limits.bounds) include(bound.value);
  for (const Decimal& factor : limits.factors) include(factor);
  return std::max(digits_of_double, static_cast<int>(whole + fraction + 1));
}

/// Where in a number's text a state is (RFC 8259, section 6).
enum Phase : int { at_start, after_minus, after_zero, in_whole, after_point, in_fraction };

struct State {
  Phase phase = at_start;
  bool negative = false, zero = true;
  std::vector<Memory> memories;
  friend auto operator<=>(const State&, const State&) = default;
};

class Numbers {
 public:
  /// `digits`: the most that a number has, where that is limited.
  Numbers(const NumberLimits& limits, std::optional<int> digits) {
    for (const Bound& bound : limits.bounds) followers_.push_back(std::make_unique<Comparison>(bound));
    for (const Decimal& factor : limits.factors) followers_.push_back(std::make_unique<Multiple>(factor, limits.for_writing));
    if (limits.integer) followers_.push_back(std::make_unique<Integer>(!limits.for_writing));
    if (digits) followers_.push_back(std::make_unique<FewDigits>(*digits));
  }

  /// Nothing where there are too many states.
  std::optional<TextAutomaton> make() const {
    State first;
    for (const auto& follower : followers_) first.memories.push_back(follower->start());
    std::map<State, std::uint32_t> numbers{{first, 0}};
    std::deque<State> open{first};
    std::vector<TextAutomaton::State> states;
    for (; !open.empty(); open.pop_front()) {
      TextAutomaton::State made{.accepts = accepts(open.front())};
      for (const char c : std::string_view("-.0123456789")) {
        State next = open.front();
        if (!step(next, c)) continue;
        const auto [known, is_new] = numbers.emplace(next, static_cast<std::uint32_t>(numbers.size()));
        if (is_new) open.push_back(next);
        made.edges.push_back({static_cast<char32_t>(c), static_cast<char32_t>(c), known->second});
      }
      states.push_back(std::move(made));
      if (numbers.size() > most_states) return std::nullopt;
    }
    return TextAutomaton(std::move(states));
  }

 private:
  bool accepts(const State& state) const {
    const bool ends = state.phase == after_zero || state.phase == in_whole || state.phase == in_fraction;
    for (std::size_t i = 0; ends && i < followers_.size(); ++i) {
      if (!followers_[i]->holds(state.memories[i], state.negative, state.zero)) return false;
    }
    return ends;
  }

  bool step(State& state, char c) const {
    if (c >= '0' && c <= '9') return step_digit(state, c - '0');
    if (c == '-' && state.phase == at_start) {
      state.phase = after_minus;
      state.negative = true;
      return true;
    }
    if (c == '.' && (state.phase == after_zero || state.phase == in_whole)) {
      state.phase = after_point;
      return true;
    }
    return false;
  }

  bool step_digit(State& state, int digit) const {
    switch (state.phase) {
      case at_start:
      case after_minus:
        state.phase = digit == 0 ? after_zero : in_whole;
        break;
      case after_zero:
        return false;
      case after_point:
        state.phase = in_fraction;
        break;
      case in_whole:
      case in_fraction:
        break;
    }
    state.zero = state.zero && digit == 0;
    for (std::size_t i = 0; i < followers_.size(); ++i) {
      if (!followers_[i]->read(state.memories[i], digit, state.phase == in_fraction)) return false;
    }
    return true;
  }

  std::vector<std::unique_ptr<Follower>> followers_;
};

}  // namespace

Decimal Decimal::parse(std::string_view json) {
  Decimal decimal;
  decimal.negative = json.starts_with('-');
  if (decimal.negative) json.remove_prefix(1);
  const std::size_t e = std::min(json.find_first_of("eE"), json.size());
  std::string_view exponent_text = json.substr(std::min(e + 1, json.size()));
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  const int exponent = e == json.size() ? 0 : parse_number<int>(exponent_text).value_or(static_cast<int>(most_digits) + 1);
  const std::size_t point = std::min(json.find('.'), e);
  std::string digits(json.substr(0, point));
  if (point < e) digits += json.substr(point + 1, e - point - 1);
  if (std::abs(exponent) > static_cast<int>(most_digits) || digits.size() > most_digits)
    fail(Code::invalid_argument, "a number with more than {} digits", most_digits);
  int before = static_cast<int>(point) + exponent;  // digits before the point
  if (before < 0) {
    digits.insert(0, static_cast<std::size_t>(-before), '0');
    before = 0;
  }
  if (static_cast<std::size_t>(before) > digits.size()) digits.resize(static_cast<std::size_t>(before), '0');
  decimal.whole = digits.substr(0, static_cast<std::size_t>(before));
  decimal.fraction = digits.substr(static_cast<std::size_t>(before));
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size()));
  decimal.fraction.erase(decimal.fraction.find_last_not_of('0') + 1);
  if (decimal.is_zero()) decimal.negative = false;
  return decimal;
}

std::string Decimal::text() const {
  return (negative ? "-" : "") + (whole.empty() ? "0" : whole) + (fraction.empty() ? "" : "." + fraction);
}

TextAutomaton numbers_within(const NumberLimits& limits) {
  std::vector<std::optional<int>> limits_of_digits;
  if (limits.for_writing) {
    const int most = most_digits_of(limits);
    if (most > most_usual_digits) limits_of_digits.emplace_back(digits_of_double);
    limits_of_digits.emplace_back(most);
  }
  if (!limits.for_writing || !limits.factors.empty()) limits_of_digits.emplace_back();
  std::optional<TextAutomaton> made;
  for (const auto& digits : limits_of_digits) {
    std::optional<TextAutomaton> next = Numbers(limits, digits).make();
    if (next) made = std::move(next);
    if (made && !made->is_empty()) break;
  }
  if (!made) fail(Code::invalid_argument, "a number's limits together need more than {} states", most_states);
  return std::move(*made);
}

}  // namespace skipstone::grammar
