#include "textflag.h"

// func dots2x4(row0, row1, queries *float32, dim int, out *[8]float32)
// Requires: AVX, FMA3
TEXT ·dots2x4(SB), NOSPLIT, $0-40
	MOVQ row0+0(FP), AX
	MOVQ row1+8(FP), BX
	MOVQ queries+16(FP), CX
	MOVQ dim+24(FP), DX
	MOVQ out+32(FP), DI
	LEAQ (CX)(DX*4), R8
	LEAQ (R8)(DX*4), R9
	LEAQ (R9)(DX*4), R10
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	XORQ SI, SI

	// Eight numbers of two rows and of four queries; Y0 to Y3 are the first row's sums, Y4 to Y7 the second's.
eight:
	VMOVUPS (AX)(SI*4), Y8
	VMOVUPS (BX)(SI*4), Y9
	VMOVUPS (CX)(SI*4), Y10
	VMOVUPS (R8)(SI*4), Y11
	VMOVUPS (R9)(SI*4), Y12
	VMOVUPS (R10)(SI*4), Y13
	VFMADD231PS Y8, Y10, Y0
	VFMADD231PS Y8, Y11, Y1
	VFMADD231PS Y8, Y12, Y2
	VFMADD231PS Y8, Y13, Y3
	VFMADD231PS Y9, Y10, Y4
	VFMADD231PS Y9, Y11, Y5
	VFMADD231PS Y9, Y12, Y6
	VFMADD231PS Y9, Y13, Y7
	ADDQ $8, SI
	CMPQ SI, DX
	JLT  eight

	// The sums of each register's eight numbers, four registers at a time.
	VHADDPS Y1, Y0, Y0
	VHADDPS Y3, Y2, Y2
	VHADDPS Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VMOVUPS X0, (DI)
	VHADDPS Y5, Y4, Y4
	VHADDPS Y7, Y6, Y6
	VHADDPS Y6, Y4, Y4
	VEXTRACTF128 $1, Y4, X5
	VADDPS X5, X4, X4
	VMOVUPS X4, 16(DI)
	VZEROUPPER
	RET
