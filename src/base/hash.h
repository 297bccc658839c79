// Non-cryptographic hashes for cache keys, for telling files apart and for test seeds.
#pragma once

#include <cstdint>
#include <string_view>

namespace skipstone {

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) step(static_cast<unsigned char>(byte));
  }
  /// Hashes the value's eight bytes, the lowest first.
  void add(std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) step(number >> 8 * byte & 0xff);
  }
  /// Hashes a word in one step, for many words; not the hash of its bytes.
  void add_word(std::uint64_t word) { step(word); }
  std::uint64_t value() const { return value_; }

 private:
  void step(std::uint64_t part) { value_ = (value_ ^ part) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

inline std::uint64_t fnv1a(std::string_view bytes) {
  Fnv1a hash;
  hash.add(bytes);
  return hash.value();
}

/// The number that SplitMix64 gives from the state `value` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014).
inline std::uint64_t split_mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace skipstone
