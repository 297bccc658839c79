// Messages between stages as bytes, for links between processes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "exec/link.h"

namespace skipstone::cluster {

/// Both ends run the same build (engine::stage_build()): numbers are in its representation. Throws unsupported for more than `most_bytes`.
std::vector<std::byte> to_bytes(const exec::StageMessage& message);
/// Throws io for bytes that are no message.
exec::StageMessage message_from(std::span<const std::byte> bytes);

inline constexpr std::size_t most_bytes = 0x7FFF'FFFF;  ///< MPI counts in int

}  // namespace skipstone::cluster
