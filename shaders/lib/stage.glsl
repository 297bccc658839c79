// Included first by every kernel: turns the shared contract's macros (shaders/abi) into GLSL.
#extension GL_EXT_control_flow_attributes : require

#define SK_FIELD(type, name) type name;
#define SK_ARRAY(type, name, length) type name[length];
#define SK_CONSTANT(id, name, fallback) layout(constant_id = id) const uint name = fallback;

// Every kernel's workgroup is one-dimensional and its size is specialization constant 0.
layout(local_size_x_id = 0) in;
