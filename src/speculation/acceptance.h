// How drafts of one source have fared, position by position, recent rounds weighing more.
#pragma once

#include <array>
#include <cstdint>

namespace skipstone::speculation {

/// For each position of a round: how often a draft was made where it could have been, and how often it was right where all before it were.
/// A position that was not seen yet is taken to be as the one before it, and the first as `prior`.
class Acceptance {
 public:
  /// `memory`: rounds after which a round weighs 1/e.
  explicit Acceptance(double prior = 0.6, double memory = 40) : prior_(prior), memory_(memory) {}

  /// A round that drafted `drafted` of the `limit` drafts it was allowed, the first `accepted` of them right. `limit` 0 counts for nothing.
  void add(std::uint32_t drafted, std::uint32_t accepted, std::uint32_t limit);
  /// Time passes in which the source was not used: what is known of it fades, at a `share` of a round's rate.
  void fade(double share);

  struct Expected {
    double tokens = 1;  ///< that a round emits
    double drafts = 0;
  };
  /// Of a round that may draft up to `limit`.
  Expected expected(std::uint32_t limit) const;
  double rounds() const { return positions_[0].asked; }  ///< by weight

 private:
  static constexpr std::uint32_t most = 32;
  struct Position {
    double asked = 0, made = 0;   ///< a draft could have been made; was made
    double tried = 0, right = 0;  ///< was made after right ones; was right itself
  };
  std::array<Position, most> positions_{};
  double prior_, memory_;
};

}  // namespace skipstone::speculation
