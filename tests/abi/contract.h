// The C++ side of the contract between host and kernels (src/kernels/abi.h) as tables, and the comparison with a kernel's SPIR-V.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_table.h"
#include "spirv_reflection.h"

namespace skipstone::abi_test {

struct Contract {
  std::vector<Member> push;
  std::uint32_t push_bytes = 0;
  std::vector<Constant> constants;
  std::vector<std::uint32_t> constant_offsets;  ///< of the C++ structure's members
  std::uint32_t constant_bytes = 0, buffers = 0;
};

/// By the name of the header in shaders/abi. Throws Error for names that it does not know.
Contract contract_of(std::string_view abi);

/// Structures in buffers that both sides know, by their name in the kernels: State, RowResult, Partial.
std::map<std::string, std::vector<Member>> shared_blocks();

/// "" where kernel, table and C++ agree, else the first difference in words.
std::string drift(const kernels::KernelInfo& kernel, const Reflection& reflection, const Contract& contract,
                  const std::map<std::string, std::vector<Member>>& blocks);

}  // namespace skipstone::abi_test
