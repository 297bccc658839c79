#include "convert/tensor_types.h"

#include <fmt/format.h>

#include "json/json.h"

namespace cli {

std::string tensor_types_text(const skipstone::Json& types) {
  std::string text;
  for (const auto& type : types) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", type["type"].get<std::string>(), type["tensors"].get<std::uint64_t>());
  }
  return text;
}

const char* const tensor_types_help =
    "Types, with the bits of most weights:\n"
    "  F32                    32        what training gives\n"
    "  F16                    16        usually indistinguishable; weights beyond 65504 do not fit and are refused\n"
    "  BF16                   16        the range of F32 with fewer digits; exact for checkpoints of this type\n"
    "  Q8_0                   8.5       hardly worse than F16\n"
    "  Q6_K                   6.6       as a rule not to be told from Q8_0 by its texts\n"
    "  Q5_K_M Q5_K_S          5.5       S: smaller, M: more bits for the matrices that deserve them\n"
    "  Q5_1 Q5_0              6 5.5     for rows that do not divide by 256\n"
    "  Q4_K_M Q4_K_S          4.5       the usual choice\n"
    "  Q4_1 Q4_0 IQ4_NL       5 4.5 4.5 for rows that do not divide by 256; IQ4_NL is the best of them for its size\n"
    "  IQ4_XS                 4.3       a little smaller than Q4_K_S, and as good\n"
    "  MXFP4 NVFP4            4.3 4.5   four-bit floats, for devices that multiply them; MXFP4 is coarser than the others of its size\n"
    "  MXFP4_MOE              4.3       MXFP4 in the experts of a mixture, Q8_0 in the rest\n"
    "  Q3_K_M Q3_K_L Q3_K_S   3.4       where memory is short; L: large\n"
    "  Q2_K Q2_K_S            2.6       the smallest; large models only\n"
    "Norms and biases are F32 in all of them. The output matrix is Q6_K in types below Q8_0. Matrices whose rows do not divide into a\n"
    "type's blocks (256 weights where the name has a K, else 32) get the next larger type, and a line says how many.\n";

}  // namespace cli
