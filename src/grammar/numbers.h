// JSON numbers within bounds, as automata over their digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/text_automaton.h"

namespace skipstone::grammar {

/// A decimal number, exactly: sign, digits before the point without zeros in front ("" for 0), digits after it without zeros at their end.
struct Decimal {
  bool negative = false;
  std::string whole, fraction;

  /// A JSON number's text. Throws invalid_argument where it has more than 400 digits.
  static Decimal parse(std::string_view json);
  /// Its digits, without an exponent: as numbers_within() has numbers.
  std::string text() const;
  bool is_zero() const { return whole.empty() && fraction.empty(); }
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

enum class Relation { at_least, above, at_most, below };

struct Bound {
  Relation relation = Relation::at_least;
  Decimal value;
};

struct NumberLimits {
  bool integer = false;
  std::vector<Bound> bounds = {};
  std::vector<Decimal> factors = {};  ///< each is above 0; a number is a multiple of all
  /// Numbers that a model writes: at most 15 digits, which a double holds exactly, or one more than the bounds have where that is up to 40
  /// digits or no shorter number fits; and no fraction of zeros in an integer. Where there are factors and counting digits takes too many
  /// states, they are not counted.
  bool for_writing = false;

  bool is_free() const { return !integer && bounds.empty() && factors.empty(); }
};

/// The JSON texts of the numbers, without those that have an exponent: what it does to the digits before it is not known when they are
/// read. Throws invalid_argument for a factor whose digits are a number above 10,000.
TextAutomaton numbers_within(const NumberLimits& limits);

}  // namespace skipstone::grammar
