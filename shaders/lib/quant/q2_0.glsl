const uint UNIT = 2;
#include "lib/quant/scaled_pairs.glsl"
