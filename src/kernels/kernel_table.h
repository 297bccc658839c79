// The embedded kernels, in the order of KernelId. The table itself is generated from shaders/CMakeLists.txt.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel_ids.h"

namespace skipstone::kernels {

struct KernelInfo {
  const char* name;
  const char* abi;                       ///< which header of shaders/abi
  std::span<const std::uint32_t> spirv;  ///< empty where the shader compiler of this build cannot make it
  std::uint32_t buffers;
  std::uint32_t texel_buffers;  ///< bit i: buffer i is a texel buffer
  std::uint32_t push_bytes, constants;
};

std::span<const KernelInfo> kernel_table();

inline const KernelInfo& info(KernelId id) { return kernel_table()[static_cast<std::uint32_t>(id)]; }

}  // namespace skipstone::kernels
