#include "textflag.h"

// func dots2x4(row0, row1 *int16, vectors *int16, n int, out *products)
// Requires: AVX2
TEXT ·dots2x4(SB), NOSPLIT, $0-40
	MOVQ row0+0(FP), AX
	MOVQ row1+8(FP), BX
	MOVQ vectors+16(FP), CX
	MOVQ n+24(FP), DX
	MOVQ out+32(FP), DI
	LEAQ (CX)(DX*2), R8
	LEAQ (R8)(DX*2), R9
	LEAQ (R9)(DX*2), R10
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	XORQ SI, SI

	// Sixteen numbers of two rows and of four vectors; Y0 to Y3 are the first row's sums, Y4 to Y7 the second's. Rows are asked for 4 KB ahead: what lies
	// behind these two comes next, and that memory is read in one direction is hard to see from two places at a time.
sixteen:
	PREFETCHT0 4096(AX)(SI*2)
	PREFETCHT0 4096(BX)(SI*2)
	VMOVDQU (AX)(SI*2), Y8
	VMOVDQU (BX)(SI*2), Y9
	VMOVDQU (CX)(SI*2), Y10
	VMOVDQU (R8)(SI*2), Y11
	VPMADDWD Y8, Y10, Y12
	VPMADDWD Y9, Y10, Y13
	VPMADDWD Y8, Y11, Y14
	VPMADDWD Y9, Y11, Y15
	VPADDD Y12, Y0, Y0
	VPADDD Y13, Y4, Y4
	VPADDD Y14, Y1, Y1
	VPADDD Y15, Y5, Y5
	VMOVDQU (R9)(SI*2), Y10
	VMOVDQU (R10)(SI*2), Y11
	VPMADDWD Y8, Y10, Y12
	VPMADDWD Y9, Y10, Y13
	VPMADDWD Y8, Y11, Y14
	VPMADDWD Y9, Y11, Y15
	VPADDD Y12, Y2, Y2
	VPADDD Y13, Y6, Y6
	VPADDD Y14, Y3, Y3
	VPADDD Y15, Y7, Y7
	ADDQ $16, SI
	CMPQ SI, DX
	JLT  sixteen

	// The sums of each register's eight numbers, four registers at a time.
	VPHADDD Y1, Y0, Y0
	VPHADDD Y3, Y2, Y2
	VPHADDD Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VMOVDQU X0, (DI)
	VPHADDD Y5, Y4, Y4
	VPHADDD Y7, Y6, Y6
	VPHADDD Y6, Y4, Y4
	VEXTRACTI128 $1, Y4, X5
	VPADDD X5, X4, X4
	VMOVDQU X4, 16(DI)
	VZEROUPPER
	RET

// func dots2x1(row0, row1 *int16, vector *int16, n int, out *products)
// Requires: AVX2
TEXT ·dots2x1(SB), NOSPLIT, $0-40
	MOVQ row0+0(FP), AX
	MOVQ row1+8(FP), BX
	MOVQ vector+16(FP), CX
	MOVQ n+24(FP), DX
	MOVQ out+32(FP), DI
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ SI, SI

	// Sixteen numbers of the first row and of the vector, and then of the second row: memory is read in one direction.
first:
	PREFETCHT0 4096(AX)(SI*2)
	VMOVDQU (AX)(SI*2), Y8
	VPMADDWD (CX)(SI*2), Y8, Y8
	VPADDD Y8, Y0, Y0
	ADDQ $16, SI
	CMPQ SI, DX
	JLT  first
	XORQ SI, SI

second:
	PREFETCHT0 4096(BX)(SI*2)
	VMOVDQU (BX)(SI*2), Y8
	VPMADDWD (CX)(SI*2), Y8, Y8
	VPADDD Y8, Y1, Y1
	ADDQ $16, SI
	CMPQ SI, DX
	JLT  second

	VPHADDD Y1, Y0, Y0
	VPHADDD Y0, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VMOVD X0, (DI)
	VPEXTRD $1, X0, 16(DI)
	VZEROUPPER
	RET
