// Blocks of random bits and what another implementation, the Python package gguf 0.19.0 (gguf.quants, MIT), makes of them, or from MXFP4 on
// ggml 0.27.0 (Q8_K, which neither expands: its formula); and what rounding to each format loses.
#pragma once

#include <cstdint>
#include <vector>

#include "gguf/traits.h"

namespace skipstone::gguf {

struct GoldenBlock {
  Type type;
  const char* block;           ///< hexadecimal; the half-precision numbers are between -2 and 2
  std::vector<float> weights;  ///< 0, 1, 17, 31, the middle one, the last
  std::uint64_t hash;          ///< FNV-1a of all weights' bytes
};

inline const std::vector<GoldenBlock>& golden_blocks() {
  static const std::vector<GoldenBlock> blocks = {
      {Type::q4_0,
       "66bce5f1a94106a0956a26afbccdafe562f9",
       {0x1.a640000000000p+1f, 0x1.eca0000000000p+2f, -0x1.eca0000000000p+2f, -0x1.eca0000000000p+2f, -0x1.a640000000000p+2f,
        -0x1.eca0000000000p+2f},
       0xe7a6f95f85ddef9fu},
      {Type::q4_1,
       "eabf243d4551370e99b2d74c3427fa48d732a1df",
       {-0x1.1370000000000p+3f, -0x1.6300000000000p-1f, -0x1.1370000000000p+3f, -0x1.86f8000000000p+4f, -0x1.a840000000000p+2f,
        -0x1.86f8000000000p+4f},
       0x1443c674b53169acu},
      {Type::q5_0,
       "17bba621f9bd0ccc21397c1ec795ca7748dc03d17a88",
       {0x1.c5c0000000000p+1f, -0x1.5450000000000p+3f, 0x1.c5c0000000000p+1f, -0x1.c5c0000000000p+2f, -0x0.0p+0f, -0x1.c5c0000000000p+2f},
       0x232c545305d7703eu},
      {Type::q5_1,
       "d932ee3f1f223f4192c58efd5185f0711ef7677a1f132a81",
       {0x1.7564000000000p+2f, 0x1.9e7a000000000p+2f, 0x1.fe58000000000p+2f, 0x1.d8e0000000000p+1f, 0x1.d542000000000p+2f,
        0x1.d8e0000000000p+1f},
       0x074bc5aa8326b641u},
      {Type::q8_0,
       "3437c3ce3be4ebcab72f45b35223479f6e794d57037e2cfde9e15a7789781e3721a5",
       {-0x1.b764000000000p+4f, -0x1.6828000000000p+4f, 0x1.3956000000000p+5f, -0x1.47be000000000p+5f, 0x1.1552000000000p+5f,
        -0x1.47be000000000p+5f},
       0x46b2098b533b85c2u},
      {Type::iq4_nl,
       "a02b03291bdc5d1d8fc83f0b0bb4db71be57",
       {-0x1.efa0000000000p+1f, 0x1.8c80000000000p-1f, -0x1.3c70000000000p+2f, -0x1.0ae0000000000p+1f, -0x1.e430000000000p+2f,
        -0x1.0ae0000000000p+1f},
       0x9c39f2014cca318fu},
      {Type::q2_k,
       "fe4363f82f4759778955f6ced681cbea7179ced2c8f814a13472ff70ce369d8385452a44f318337f08cd1e614f235d3f83bc45fee9ee04"
       "03a79be118544441317c9311f85e0429b19f7ec0e156f65a33f1bf483d",
       {-0x1.7ccc000000000p+5f, -0x1.7ccc000000000p+5f, -0x1.6798000000000p+3f, -0x1.7264000000000p+4f, -0x1.00ab000000000p+6f,
        -0x1.27c0000000000p+4f},
       0x4c24ade0a084e3a7u},
      {Type::q3_k,
       "80ee995ee58be7a9ebc28a271d43a78855638144eb6603f7b2725de11fe6ac2f88a68182869793f0aad6ded8116e3ab51681c4a374fec7"
       "0a68b3e4bdc92b387987416c17ec90963ec766888ab4b80eba7c5cfd81121bea9cee1810dfd5169faf26cd7b5c30c8aba44d97229931b7",
       {-0x1.1fa8000000000p+4f, -0x1.1fa8000000000p+3f, -0x1.a11a000000000p+3f, -0x1.a11a000000000p+3f, -0x1.af7c000000000p+3f,
        0x1.1fa8000000000p+3f},
       0x1ff58de7b068b865u},
      {Type::q4_k,
       "fc3d313932202c998e82b2522c49c4394c7d73265b6aaf61b288fbd0aecfa766616223611e764c93aa388ffabd0a6a6412b209971e2d82"
       "7076f7e49ab8fa197271be53a3442b128cdad72bad0f8aeef42a0b9a26d74fc78f2562b8701097a55b5510543d27ed600de3200a674930"
       "7fd37899c118819af6674394c3f7aa5f93f32c810a37ca7bf1013ccdf8ab8ab4a603",
       {0x1.bc49200000000p+9f, 0x1.e1b0200000000p+9f, 0x1.190c800000000p+7f, 0x1.2222400000000p+8f, 0x1.3aef800000000p+7f,
        -0x1.8a8c000000000p+3f},
       0x6da5d18ac4b7c77bu},
      {Type::q5_k,
       "99bf17b8aadf7488f892b12191387ad86aca56d8531c927b931fe8f16e795b9b331767e712dbe8f5331dd9917f01e64710dd3c25f4d216"
       "90a049453135550ec0193a8bed1783d53ec944658d1d28960c44b0382e93438e60788d51e279a131f8130b3ea4bd2f5d95e57bd791436d"
       "840f4e6654608135bbfb885d346959a49b36402a4f3dcc489fb6511fbe09e5d72bf834e04fe028ca4991e02abd77279fedc206d2318ca8"
       "b8287a6f4b795209575d72",
       {0x1.ca10000000000p+4f, -0x1.f839c00000000p+9f, -0x1.ff62000000000p+10f, -0x1.13a2a00000000p+11f, -0x1.a831d00000000p+9f,
        -0x1.0698500000000p+9f},
       0xcc8d27af62a1dd90u},
      {Type::q6_k,
       "77d456c07066c1cd7109c5079a933ee857db751ff223726ad90697f749f7c61bd80163a8c9a356ba91d79f6d24ee3a14ebd41386d8faef"
       "6e9e6c70df41dba9aeb5301e5824b7db0e504f1d970686934768f005af0d5a23ddb465fc5a489b43e76ea3e384969be487a440e7c3ea52"
       "04cabbf9bfe8e648caff7704ac26d227a069c392f4eeb361c24ef366530178b479933822c3c0cf6b3cbeb4af7ecff21cd3a408f80223e3"
       "93ddd808453d6bad90efd8aba2b4d096226df8d446a703fcb2bdddd8e1e2a09a633f7c349903cb463dc4f33a3b",
       {-0x1.9f87000000000p+9f, -0x1.2110000000000p+7f, -0x1.3408400000000p+8f, 0x1.2607e00000000p+9f, -0x1.3d10c00000000p+10f,
        -0x1.0259800000000p+8f},
       0xb66cbdcbe370ebc6u},
      {Type::iq4_xs,
       "5bbe6a45ff789e82156ccc351b42415e8fc0dfe6646ad300f4d4e824fcb2731d93593cd1dea411398927c4cfe7a5d3da5275b741f81b6b"
       "6cb4a608467ce5cce8a2a32227834e69d1fe51c35c81481908d29485c7a5d6aec25985c11eb326fd5c6888f96cce7aaf45ffa5b00a2578"
       "c9d6142dcea62cf3ae012a79a06f57a93d2f1cca058d3ea49374",
       {0x1.a113e00000000p+9f, -0x1.3bc9900000000p+10f, 0x1.0629c00000000p+9f, 0x1.7a59580000000p+11f, 0x1.1ad1800000000p+8f,
        -0x1.fc70000000000p+6f},
       0xc5558f24bc7e2c09u},
      {Type::iq3_s,
       "12347d0fbc14ceed5c68276cfe3701ed2ac1eb54b5bb20a088e05f6f5bf75293c18edff3004bc58de0ce06a8c85fca7bc40e6902e808e0"
       "293a943641a6b62426d92c64e83ef3c413e65cb8db7ba30d4e9f19a70f6d1a7f08eaaf672a157e04ec646ac6f261fd00399094516d67a2",
       {0x1.2510000000000p+1f, 0x1.3d7c000000000p+3f, -0x1.e870000000000p+1f, -0x1.86c0000000000p-1f, -0x1.c9e9000000000p+5f,
        -0x1.55e8000000000p+2f},
       0xbbb515349bb45de9u},
      {Type::iq3_xxs,
       "fa30f66ee75d7da36d5d11ad0eea234d421e007783cc90a94e9f2dd7da8786b93a0a4134ca7faf74d84fec9d6b7d786503b383e05ddee7"
       "6360ef4f607b6f9aec16f5357ff8b21b18d63b21c2cd9b39b4ce02f0e895e2b4fc34d7db2eaa2a041b0421",
       {-0x1.c9d8000000000p+1f, 0x1.c9d8000000000p+1f, 0x1.c9d8000000000p+1f, 0x1.5762000000000p+3f, 0x1.68cd000000000p+4f,
        -0x1.81af000000000p+3f},
       0x99fb6f8db9958203u},
      {Type::iq2_s,
       "303eaf1e3bf31b702e8053202185d733ce478d78e9e787fa9a4609dbee0e0bb23313b034f71170f20fe5f0466ed47205fd1321be3497d8"
       "a948467438e9ea780381e81f3c37f1823f8937c30cc3d5cd5c434d",
       {0x1.5a80000000000p+3f, 0x1.5a80000000000p+3f, -0x1.9fb9000000000p+7f, 0x1.3560000000000p+5f, -0x1.4e20000000000p+5f,
        -0x1.bd80000000000p+3f},
       0xb8b5046455bfcaf0u},
      {Type::iq2_xs,
       "0fafbe2d0f7fd48ed1cb04aeba67cc329cc799d0e1150879ee1d5201cf6e129b32386018ea2faaf939986283cf4615aef893091571806b"
       "fda41a4a512c377f0860fdcc8ac209505a1b0e",
       {-0x1.da3fd00000000p+3f, 0x1.60ee000000000p+1f, 0x1.60ee000000000p+1f, -0x1.da3fd00000000p+3f, -0x1.c3c0000000000p-4f,
        -0x1.60ee000000000p-2f},
       0x073e8942df9513e4u},
      {Type::iq2_xxs,
       "3ab600b53d3d311765b734f32edd709f4cab9818ba11821eb5e1949ad683d0e2042ebc65dedc028774d362d68bd2d9bffcc053be035070"
       "15e26c4ca9a044ea2793ff",
       {0x1.1e6c000000000p+3f, -0x1.1e6c000000000p+3f, -0x1.bf88c00000000p+4f, 0x1.1e6c000000000p+3f, -0x1.06aee00000000p+5f,
        0x1.820c000000000p+3f},
       0x2226b2fd50141509u},
      {Type::iq1_s,
       "e8bc791b4c69a769aea9797f031e3f521cbede27a824120289823645d39a837bd3547ec0073909c7473d48faf7a2f1aa4596",
       {0x1.6140000000000p+0f, -0x1.3518000000000p+3f, 0x1.8d68000000000p+3f, 0x1.8d68000000000p+3f, 0x1.4b2c000000000p+4f,
        0x1.d700000000000p-2f},
       0xfb124891d122ac5eu},
      {Type::iq1_m,
       "47e372554d17ea5267a934947d65433a7108b0aa38cf0368aca397cdb31b78dca1076c4e8a46df09ad6b76a7fefc188c8545984dddd211"
       "b4",
       {-0x1.04a6000000000p+4f, 0x1.9574000000000p+3f, -0x1.5100000000000p-3f, 0x1.26e0000000000p+0f, 0x1.04a6000000000p+4f,
        0x1.d9e8000000000p+2f},
       0x7287014f8ecda745u},
      {Type::mxfp4,
       "7f3ff3b35b36919e47cb765681f7845969",
       {-0x1.8000000000000p+2f, 0x1.8000000000000p+0f, -0x1.8000000000000p+2f, 0x1.0000000000000p+2f, 0x1.8000000000000p+0f,
        0x1.0000000000000p+2f},
       0x046251140aee8818u},
      {Type::nvfp4,
       "22012d35cf4fe9da7f41b7619396d44c3eba560dd4acab020772282ec3853d13b9062746",
       {-0x1.e000000000000p-1f, -0x1.e000000000000p-1f, 0x1.0000000000000p-7f, 0.0f, 0x1.a000000000000p-1f, 0x1.a000000000000p+0f},
       0x1b6725bfecb6ac9fu},
      {Type::q1_0,
       "fa4b4f8847bb1665452d74bb6dc7deca6de2",
       {0x1.fe80000000000p+3f, 0x1.fe80000000000p+3f, 0x1.fe80000000000p+3f, 0x1.fe80000000000p+3f, -0x1.fe80000000000p+3f,
        0x1.fe80000000000p+3f},
       0x8b225a767f2eee25u},
      {Type::q2_0,
       "383a55f996fb980d97587232df51b42d3db8",
       {0.0f, 0.0f, 0x1.8e00000000000p-1f, 0.0f, 0x1.8e00000000000p-1f, 0x1.8e00000000000p-1f},
       0xccadc157e3f325afu},
      {Type::tq1_0,
       "2e8c583be645612fb2a7c9a351c3bdf36d99c6caceaa413daca05b0e4bb99de80805238f5a020bf5fb2c8a2595ef76d6b74e9b3ae043",
       {-0x1.f800000000000p+1f, 0.0f, 0.0f, 0x1.f800000000000p+1f, 0.0f, -0x1.f800000000000p+1f},
       0x098ee51c54a8f9e5u},
      {Type::tq2_0,
       "78a7695d9204559e37cab0625a898632e9547a9b63c8c65af8a452948895c2841040e668fdfd171fc7e0e0c2d0206d3b53fa96c0076cfdf80286290277915abd914"
       "1",
       {-0x1.6440000000000p+1f, 0x1.6440000000000p+2f, -0x1.6440000000000p+1f, -0x1.6440000000000p+1f, -0x1.6440000000000p+1f,
        0x1.6440000000000p+1f},
       0x1d08584bc5c72f25u},
      {Type::q8_k,
       "618ebe3e02378e6eff9ad0b93e70fe42b4ff86ee500fdd47d1a4c763c0c38082ebeed4d51420e5e8dde444188b3854d4ca07a1291a812da11e351c7621de7671da9"
       "d038b374e89563b40846797dce4bcfd6c3035016cb73c17925daeea2e39cb2e0daf1f221cdaa8cc1e77d298a94f90f930016957ca9c907c2beac2c353b6d65e3ecc"
       "9e5716c868d6687922750c15704ecbb941db7f2ddcad7b0b38a036911c3a0f7807162edb857201260c6d1336320c305133d8663a2bc8d5e5397410a855d7571a0a8"
       "ee4d161dcf0dc9571f3d49bc4b822dc77e392546e3342a4e8f93f80334f0e51ba3f921ab0172d1634c256513d6fc8d04374e5c4ae338043b726c826405b5df36cff"
       "29fea4ff3900ab003900a6ff48ff8f021901f10131012efe48019000ba00",
       {0x1.7d1cc20000000p-1f, 0x1.4784b60000000p+4f, 0x1.654af60000000p+2f, -0x1.000f520000000p+4f, 0x1.03098c0000000p+5f,
        -0x1.35a75e0000000p+2f},
       0x2a9e6f3f512c3af8u},
  };
  return blocks;
}

/// What it makes of weight[i] = ((37 * i) % 64 - 23) / 16.
struct GoldenRounding {
  Type type;
  const char* block;
};

inline constexpr GoldenRounding golden_roundings[] = {
    {Type::q8_0, "0a25b72cd74cf66c16c036e056007520ca40ea5f0a7f29d449f36913bd33dd53fd72"},
    {Type::q4_0, "00b59d257b0359b1379c157ac358a1368b14"},
    {Type::q4_1, "3334c0bd40d962fb952eb751da730c953ec851ea"},
    {Type::q5_0, "00b1954aa154394af506b1627d2839e485a0416c0728"},
    {Type::q5_1, "1130c0bd2ab55aa980a2d5f72a4c7f91c4e6193b6e80b3d5"},
};

/// What rounding to a format loses: a row for each that is written, but F32.
struct RoundingErrors {
  Type type;
  /// Root mean square error relative to that of bell-shaped weights, where scales are searched; 0 where a formula gives them
  /// (golden_roundings). Measured when the searches were written.
  double of_search;
  /// Between which the least cosine of a row of 256 uniform weights and its rounding is; a copy would be above `most`.
  double least, most;
};

inline constexpr RoundingErrors rounding_errors[] = {
    {Type::f16, 0, 1 - 1e-6, 1 - 1e-9},   {Type::bf16, 0, 1 - 1e-5, 1 - 1e-7},   {Type::q8_0, 0, 1 - 4e-5, 1 - 1e-6},
    {Type::q4_0, 0, 0.992, 0.9985},       {Type::q4_1, 0, 0.994, 0.999},         {Type::q5_0, 0, 0.998, 0.9997},
    {Type::q5_1, 0, 0.9985, 0.9998},      {Type::iq4_nl, 0.0735, 0.993, 0.9985}, {Type::iq4_xs, 0.0745, 0.993, 0.9985},
    {Type::q2_k, 0.262, 0.92, 0.98},      {Type::q3_k, 0.144, 0.98, 0.995},      {Type::q4_k, 0.0709, 0.995, 0.999},
    {Type::q5_k, 0.0350, 0.998, 0.9998},  {Type::q6_k, 0.0177, 0.9995, 0.99995}, {Type::mxfp4, 0.112, 0.985, 0.998},
    {Type::nvfp4, 0.0813, 0.985, 0.9985},
};

}  // namespace skipstone::gguf
