// FNV-1a, 64 bits (Fowler, Noll, Vo): for keys of caches and seeds of tests, not against people.
#pragma once

#include <cstdint>
#include <string_view>

namespace skipstone {

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) step(static_cast<unsigned char>(byte));
  }
  /// Its eight bytes, the lowest first.
  void add(std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) step(number >> 8 * byte & 0xff);
  }
  std::uint64_t value() const { return value_; }

 private:
  void step(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

inline std::uint64_t fnv1a(std::string_view bytes) {
  Fnv1a hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace skipstone
