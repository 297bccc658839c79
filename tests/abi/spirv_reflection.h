// What a compute kernel's SPIR-V says about its interface: just enough of the format (SPIR-V specification, sections 2.3 and 3.52) to hold
// it against the C++ side. Names are there because kernels are compiled without an optimiser.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skipstone::abi_test {

struct Member {
  std::string name;
  std::string type;  ///< "uint", "float", "uint[3]"; "?" for anything else
  std::uint32_t offset = 0;
  bool operator==(const Member&) const = default;
};

struct Constant {
  std::uint32_t id = 0;
  std::string name;
  std::uint32_t fallback = 0;
  bool operator==(const Constant&) const = default;
};

struct Reflection {
  std::vector<Member> push;
  std::vector<Constant> constants;                    ///< by id
  std::map<std::uint32_t, bool> bindings;             ///< of set 0: whether it is a texel buffer
  std::map<std::string, std::vector<Member>> blocks;  ///< structures that lie in buffers, by name
  std::optional<std::uint32_t> local_size_x_id;       ///< the specialization constant that sets the workgroup's x
  bool one_dimensional = false;                       ///< y and z are 1
};

/// Throws Error where `words` are no SPIR-V.
Reflection reflect(std::span<const std::uint32_t> words);

}  // namespace skipstone::abi_test
