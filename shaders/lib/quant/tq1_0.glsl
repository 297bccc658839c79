const uint UNIT = 8;
#include "lib/quant/scaled_pairs.glsl"
